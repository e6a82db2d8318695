"""Feet and body while walking: stance, swing, gait changes, terrain, body pose and guided legs."""
