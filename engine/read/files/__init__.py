"""The files of a snapshot version that a reader opens, made once and shared by all processes of a machine."""
