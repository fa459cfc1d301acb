"""Read templates of Directus into imported content."""
