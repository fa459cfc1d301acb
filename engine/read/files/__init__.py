"""A snapshot version → the files a reader opens, made once and shared by all processes of a machine."""
