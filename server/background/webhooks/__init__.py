"""Webhooks, sent by one process of all that serve a store."""
