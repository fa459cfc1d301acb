"""A workspace behind a server, for commands that read it over HTTP as its clients do."""
