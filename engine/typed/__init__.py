"""Describe a workspace's entries and queries for programs: names, TypeScript, Python."""
