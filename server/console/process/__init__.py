"""The console in the keeper's process: workers pass requests on to it, over HTTP on a socket of the machine."""
