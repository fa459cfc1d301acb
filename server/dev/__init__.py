"""The parts of ``cms dev`` around the server: builds on every save, and a page for the people who write."""
