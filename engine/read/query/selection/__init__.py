"""A bound list → its length and the rows of its page (design section 4)."""
