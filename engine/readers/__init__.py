"""The servers that read a store, as they say what they serve."""
