"""A request that records a view → a line in the spool, if the view counts (contract 4.13)."""
