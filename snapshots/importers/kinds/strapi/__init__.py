"""Exports of Strapi → imported content."""
