"""The node servo_driver: joint_targets in, servo bus, and joint_states out."""
