"""The node inverse_kinematics: foot_targets in, joint_targets out."""
