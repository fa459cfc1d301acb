"""Read exports of WordPress into imported content."""
