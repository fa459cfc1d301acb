"""The HTTP side: routes, headers, status codes, and the life of an opened snapshot."""
