"""``cms adopt``: prove that a site and the workspace made of it publish the same."""
