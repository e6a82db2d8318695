"""Bags: a ring of the newest messages, MCAP files of it, and two runs held side by side. No ROS in here."""
