"""Telling other programs that content, definitions or keys changed: endpoints, events, and their delivery."""
