"""One folder per ROS node. A node converts messages to numbers, calls core, and publishes the result."""

from hexapod_control.config.ros_names import require_middleware

require_middleware()  # the modules of this folder import rclpy
