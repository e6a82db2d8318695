"""Client that walks a robot from waypoint to waypoint, and the picture of its path."""
