"""The servos of one robot on an open bus: goals out, readings in, which of them answer."""
