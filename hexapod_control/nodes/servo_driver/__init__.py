# SPDX-License-Identifier: Apache-2.0
"""The node servo_driver: moves the servos of a bus to joint_targets and publishes joint_states."""
