"""Snapshot versions on disk: the manifest, staging, durable writes, activation and verification."""
