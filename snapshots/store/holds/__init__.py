"""Content that was rolled back from, and that no build makes current again."""
