"""A request that records a view → a line in the spool, where it counts (contract 4.13)."""
