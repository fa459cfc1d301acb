"""``cms review``: a pull request's content → a comment that says what publishing it would change."""
