"""From a workspace on disk to an immutable, versioned Parquet snapshot."""
