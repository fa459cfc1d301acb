"""A workspace's definitions printed in the forms of other programs."""
