"""Requests other than velocities: posture, body pose, gait, single feet, lost legs; and reports of mishaps."""
