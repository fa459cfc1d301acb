"""The definitions of a workspace: YAML → workspace, APIs and fields."""
