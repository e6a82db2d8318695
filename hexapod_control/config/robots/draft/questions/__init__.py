"""Questions that lead to a robot file, drawings of what to measure, and the robot of the answers."""
