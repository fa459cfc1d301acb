"""Read datasets of Sanity into imported content."""
