"""Every language version of a snapshot version, published or not, in lists for people who write, never for clients."""
