"""Recorded runs without ROS: a ring of the newest messages, MCAP files, and the comparison of two runs."""
