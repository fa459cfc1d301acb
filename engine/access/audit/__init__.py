"""The audit log of a workspace: who changed what, and when."""
