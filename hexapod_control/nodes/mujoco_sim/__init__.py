# SPDX-License-Identifier: Apache-2.0
"""The node mujoco_sim: moves a simulated robot to joint_targets and publishes its sensors."""
