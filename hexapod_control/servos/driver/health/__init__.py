"""Servo faults and reactions: warning, sitting down, torque off."""
