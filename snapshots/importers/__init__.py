"""The export of another CMS → a workspace, and a report of what it loses."""
