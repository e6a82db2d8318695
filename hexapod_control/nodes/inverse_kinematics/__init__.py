"""The node inverse_kinematics: converts foot_targets to joint_targets."""
