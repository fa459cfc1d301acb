"""The layers that every request passes: connections, limits, headers, compression and the access log."""
