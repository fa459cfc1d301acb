"""What is wrong with an installation, why that matters, and the command that mends it."""
