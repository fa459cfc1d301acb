"""What is live at a point, when that changes by schedule, and what differs between two points."""
