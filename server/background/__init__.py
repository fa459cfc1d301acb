"""The work that servers do between requests: webhooks, and heartbeats for whoever asks what is served."""
