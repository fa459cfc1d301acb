"""Compile a document into the rows of its language versions: values, dates, rich text."""
