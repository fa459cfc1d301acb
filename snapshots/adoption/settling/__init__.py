"""What is settled once definitions are inferred: questions for people, and files that are left out."""
