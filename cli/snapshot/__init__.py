"""The versions of a workspace: built, looked at, made current, compared, carried and checked."""
