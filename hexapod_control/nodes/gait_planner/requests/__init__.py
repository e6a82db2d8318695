"""Requests of an operator besides velocities: posture, body pose, gait, single feet, lost legs; and mishaps."""
