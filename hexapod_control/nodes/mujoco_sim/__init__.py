"""The node mujoco_sim: joint_targets in, physics, and the sensors of the simulated robot out."""
