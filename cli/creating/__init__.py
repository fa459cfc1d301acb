"""New workspaces: a starter, a site's folder or another CMS's export taken over, and the bundled example."""
