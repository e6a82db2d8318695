"""Identifies devices at a serial port: a quick probe after a failure, and a sweep of all baud rates and protocols."""
