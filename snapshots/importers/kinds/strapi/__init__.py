"""Read exports of Strapi into imported content."""
