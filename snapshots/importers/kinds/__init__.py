"""Read each export format into imported content."""
