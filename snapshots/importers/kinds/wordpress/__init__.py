"""Exports of WordPress → imported content."""
