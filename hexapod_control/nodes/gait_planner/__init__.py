# SPDX-License-Identifier: Apache-2.0
"""The node gait_planner: plans foot_targets or joint_motion from commands and sensors."""
