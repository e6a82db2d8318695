# SPDX-License-Identifier: Apache-2.0
"""The node inverse_kinematics: converts foot_targets to joint_targets."""
