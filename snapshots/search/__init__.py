"""Make the search index of a data file from its texts."""
