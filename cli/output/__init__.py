"""What a command prints: for people, or as JSON for programs."""
