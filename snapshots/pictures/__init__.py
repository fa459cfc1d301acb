"""Tell what a picture's file says of itself: its format and size, and the metadata that may be left off."""
