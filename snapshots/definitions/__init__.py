"""Read the definitions of a workspace: YAML becomes a workspace, APIs and fields."""
