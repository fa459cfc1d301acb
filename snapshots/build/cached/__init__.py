"""The compiled rows of a workspace in the build cache, from one build to the next."""
