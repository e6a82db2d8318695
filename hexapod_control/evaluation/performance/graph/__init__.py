"""Measures CPU time and latency of the running node graph, for one robot and for several."""

from hexapod_control.config.ros_names import require_middleware

require_middleware()  # the modules of this folder import rclpy
