"""A workspace's definitions and files → the configuration of an editor that runs in the browser and writes to git."""
