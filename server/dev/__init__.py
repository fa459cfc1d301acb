"""What ``cms dev`` puts around the server: builds on every save, and a page for the people who write."""
