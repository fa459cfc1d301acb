"""What answers over HTTP until it is stopped, and a way into its console."""
