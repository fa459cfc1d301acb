"""The command line: arguments → one library call → a readable answer."""
