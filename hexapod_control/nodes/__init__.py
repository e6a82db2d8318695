# SPDX-License-Identifier: Apache-2.0
"""One folder per ROS node. A node converts messages to types of the core, calls it, and publishes the result."""

from hexapod_control.config.ros_names import require_middleware

require_middleware()  # the modules of this folder import rclpy
