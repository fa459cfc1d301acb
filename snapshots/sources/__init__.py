"""The files of a workspace, with the facts that their names, git and the disk give."""
