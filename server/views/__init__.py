"""The page-view endpoints, and the views that they collect."""
