"""Pages for people: templates, style sheets and scripts, shared by the console and ``cms dev``."""
