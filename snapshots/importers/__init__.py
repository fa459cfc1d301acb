"""Turn the export of another CMS into a workspace, and report what is lost."""
