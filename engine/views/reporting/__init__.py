"""Counts → a page with charts for people."""
