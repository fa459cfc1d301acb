"""A workspace → a new snapshot version: pieces, workers, the build cache and the data files."""
