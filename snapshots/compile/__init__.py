"""A document → the rows of its language versions: values, dates, rich text."""
