"""Node graphs of a robot: their processes and parameters, start and stop."""
