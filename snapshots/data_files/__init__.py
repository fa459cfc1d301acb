"""Which data files a version has, and what their columns are called."""
