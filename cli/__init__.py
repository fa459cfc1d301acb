"""The command line: arguments in, one library call, a readable answer out."""
