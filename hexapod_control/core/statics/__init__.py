"""Support polygon, static margin, foot loads, resting pose and compliance of the legs."""
