"""The versions that are live at a point, the instants at which schedules change them, and comparisons of points."""
