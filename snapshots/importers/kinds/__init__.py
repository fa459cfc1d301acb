"""One export format each → imported content."""
