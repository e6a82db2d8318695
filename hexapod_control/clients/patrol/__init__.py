"""Walks a robot from waypoint to waypoint and draws a map of its path."""
