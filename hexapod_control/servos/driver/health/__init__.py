"""What is wrong with the servos, and what follows: a warning, sitting down, torque off."""
