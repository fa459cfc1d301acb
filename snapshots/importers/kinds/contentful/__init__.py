"""Read exports of Contentful into imported content."""
