"""The pages of a workspace, a file a tab: each answers a visit with what to show, where to go, or a file."""
