"""The node web: commands of the page to ROS, and the state of the robot to the page."""
