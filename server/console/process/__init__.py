"""The console's process: requests for pages go there and come back as answers, beside those of applications."""
