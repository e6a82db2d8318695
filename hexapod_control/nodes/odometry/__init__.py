"""The node odometry: joint_states, foot_targets and imu/data in, odom and TF out."""
