"""Which files a workspace has, and what their names, git and the disk say of them."""
