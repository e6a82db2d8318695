"""Access to the page and control of the robot: tokens, connections, message limits, requests for control."""
