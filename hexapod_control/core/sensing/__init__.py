"""Foot contacts, body tilt, foot forces and odometry from measured joints."""
