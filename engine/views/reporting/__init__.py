"""Show counts as a page with charts for people."""
