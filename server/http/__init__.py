"""What every request passes: connections, limits, headers, compression and the access log."""
