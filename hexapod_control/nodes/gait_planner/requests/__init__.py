"""Requests other than velocities and motions: posture, body pose, gait, single feet, lost legs; reports of mishaps."""
