"""`hexapod first`: the first evening with a robot."""
