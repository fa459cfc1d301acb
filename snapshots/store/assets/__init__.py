"""The assets of a workspace: files that content names, and who is about to name or to delete some of them."""
