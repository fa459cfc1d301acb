"""Letters to people: what all of them have in common, and the way to a mail server."""
