"""Walking: stance, swing, gait changes, terrain adaptation, body pose and guided legs."""
