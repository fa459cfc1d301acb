"""The output of commands: for people, or as JSON for programs."""
