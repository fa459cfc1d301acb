"""The site generators that are known, one file of rows for each."""
