"""Requests of an operator besides velocities: posture, body pose, gait, single feet and lost legs."""
