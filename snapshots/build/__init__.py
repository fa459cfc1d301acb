"""Build a new snapshot version of a workspace: worker processes, the build cache and the data files."""
