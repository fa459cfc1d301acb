"""Commands that answer over HTTP until they are stopped, and a way into the console."""
