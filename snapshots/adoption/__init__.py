"""A folder of a site that nobody wrote for this program → definitions to start from."""
