"""An opened snapshot version: statements, rows by position, and searches."""
