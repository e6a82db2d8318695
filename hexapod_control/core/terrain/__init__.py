"""The terrain: the height map of what the robot sees and feels."""
