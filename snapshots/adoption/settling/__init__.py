"""What is settled once a site is read: its translations, questions for people, and files that are left out."""
