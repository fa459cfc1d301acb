"""Changes that people make to a workspace, each noted in its audit log: the console and the command line make them
here."""
