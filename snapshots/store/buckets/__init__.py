"""Stores in a bucket: its URL, its objects, and what is to be known of the services that keep them."""
