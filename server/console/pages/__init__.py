"""The pages of a workspace, a file a tab: a visit → what to show, where to go, or a file."""
