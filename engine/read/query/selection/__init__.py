"""Select the rows of a bound list's page, and count those of the list (design section 4)."""
