"""Read what only sites of Hugo have: mounts, cascades, and a configuration of many files."""
