"""The interview of `hexapod new`: questions, drawings of what to measure, and the robot that results."""
