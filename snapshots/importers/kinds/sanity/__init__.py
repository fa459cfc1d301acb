"""Datasets of Sanity → imported content."""
