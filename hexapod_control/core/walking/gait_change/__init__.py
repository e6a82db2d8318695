"""Changing the gait while walking: when, at which phase, and via which other gait."""
