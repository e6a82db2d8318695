"""The node odometry: joint_states or joint_targets, forces on the feet, imu/data in; odom, TF and usage out."""
