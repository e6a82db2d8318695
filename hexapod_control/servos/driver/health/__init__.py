"""Faults of the servos and the reaction to them: warning, sitting down, torque off."""
