"""Read exports of Notion into imported content."""
