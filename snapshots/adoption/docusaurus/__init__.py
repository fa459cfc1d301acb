"""What the configuration of a Docusaurus site says of its content."""
