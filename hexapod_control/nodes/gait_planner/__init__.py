"""The node gait_planner: commands and sensors in, foot_targets or joint_motion out."""
