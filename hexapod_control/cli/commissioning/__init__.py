"""`hexapod first`: the commissioning of a robot, its first evening."""
