"""Page views: ``collecting`` decides what counts and keeps it, ``counting`` adds it up (design section 5)."""
