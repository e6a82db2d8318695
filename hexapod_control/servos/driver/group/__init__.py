"""The servos of one robot on an open bus: goals, readings, and presence."""
