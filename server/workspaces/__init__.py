"""The workspaces of a store: the keys and the snapshot version of each, followed as they change."""
