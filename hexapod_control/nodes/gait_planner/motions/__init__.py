"""Motions that are requested from gait_planner: by name, or as the content of a file."""
