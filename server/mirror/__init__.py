"""A store in a bucket, mirrored into a directory of this machine that is served as any local store is."""
