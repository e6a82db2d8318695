"""Measures walks, motions, patrols and odometry in physics and compares them with limits."""
