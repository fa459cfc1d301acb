"""Read exports of Ghost into imported content."""
