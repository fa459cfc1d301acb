"""``cms review``: comment on a pull request with what publishing its content would change."""
