"""The node teleop: drives the robot with a gamepad."""
