"""Read exports of microCMS into imported content."""
