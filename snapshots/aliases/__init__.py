"""The old IDs and addresses that documents name, and what references by them become."""
