"""``cms mcp``: a workspace's content as tools for agents, over the Model Context Protocol."""
