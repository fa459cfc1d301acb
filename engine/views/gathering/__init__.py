"""Writing page views: counts and rows in a store, which analysts' files follow."""
