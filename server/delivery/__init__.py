"""The delivery endpoints, the snapshot each workspace serves, and the answers that are kept."""
