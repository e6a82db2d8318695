"""Reads a URDF made for other programs, and writes robot file, joint mapping and a report of what was read."""
