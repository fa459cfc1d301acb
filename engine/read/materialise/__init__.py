"""Make the cache files of a snapshot version: once, by one process, for all readers of a machine."""
