"""Templates of Directus → imported content."""
