"""Exports of Contentful → imported content."""
