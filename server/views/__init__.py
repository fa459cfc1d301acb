"""The page-view endpoints, and the process that writes what they collected."""
