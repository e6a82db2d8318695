"""The node gait_planner: plans foot_targets or joint_motion from commands and sensors."""
