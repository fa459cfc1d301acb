"""Two points, each a version at an instant → the entries whose visible state differs between them."""
