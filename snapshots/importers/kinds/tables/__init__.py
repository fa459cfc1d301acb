"""Read tables of spreadsheets into imported content."""
