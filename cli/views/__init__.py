"""Page views: ranked, reported, and the upkeep of their files."""
