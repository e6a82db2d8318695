# SPDX-License-Identifier: Apache-2.0
"""The node teleop: drives the robot with a gamepad."""
