"""Feet that are guided along a path while the others support the robot."""
