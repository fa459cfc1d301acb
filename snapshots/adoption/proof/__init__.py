"""Compare the entries of a workspace with the pages that a site's generator made of the same content."""
