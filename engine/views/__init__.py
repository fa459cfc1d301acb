"""Page views: ``collecting`` decides which views count and spools them, ``counting`` adds them up (design 5)."""
