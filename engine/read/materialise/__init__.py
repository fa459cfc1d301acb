"""A snapshot version → the files of its cache: made once, by one process, for all readers of a machine."""
