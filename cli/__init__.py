"""The command line: each command is one library call, and prints its result for people or as JSON."""
