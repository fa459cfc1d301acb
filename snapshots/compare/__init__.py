"""Compare two snapshot versions: what changed between them, and what that breaks."""
