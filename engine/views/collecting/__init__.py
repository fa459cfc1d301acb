"""Note the view that a request reports in the spool, if it counts (contract 4.13)."""
