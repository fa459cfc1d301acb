"""What git tells of a workspace's history, and what a build loses where it does not."""
