"""Changing the gait while walking: when, at which phase, and by way of which other gait."""
