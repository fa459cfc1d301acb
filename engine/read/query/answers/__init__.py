"""A bound plan and the rows it selects → the bytes of an answer, and the answers that are kept."""
