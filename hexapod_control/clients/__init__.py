"""Programs on the operator's side of ROS: keyboard, motions, patrols and the odometry survey."""
