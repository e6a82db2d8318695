# SPDX-License-Identifier: Apache-2.0
"""Programs on the operator's side of ROS: keyboard, motions, patrols and the odometry survey."""

from hexapod_control.config.ros_names import require_middleware

require_middleware()  # the modules of this folder import rclpy
