"""Node graphs of a robot: their processes and parameters, their start and end."""
