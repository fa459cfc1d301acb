"""The main process of ``cms serve``: it holds the sockets, and starts, replaces and ends the server's processes."""
