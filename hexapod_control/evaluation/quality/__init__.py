"""Walks, motions, patrols and odometry in physics, each compared with its limits."""
