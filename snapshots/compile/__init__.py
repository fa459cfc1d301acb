"""A document → the rows of its entry versions: values, dates, rich text."""
