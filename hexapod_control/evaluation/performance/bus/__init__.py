"""Timing of the servo driver on emulated buses."""
