# SPDX-License-Identifier: Apache-2.0
"""TFMessage for the ROS wheels, which lack the package tf2_msgs.

The ROS wheels on PyPI contain rclpy and the common messages, but neither tf2_msgs nor a message generator. Without
TFMessage there is no /tf: no odometry in RViz and no Nav2. This folder adds this message type to the wheels without a
compiler, with the type name, type hash and bytes on the wire of the original, using ctypes on Fast DDS
(rmw_fastrtps_cpp is the only middleware of the wheels). It depends on structs and symbols of these libraries, so
nothing here is imported where tf2_msgs is installed (ros/message_types.py decides). Delete the folder as soon as a
wheel with tf2_msgs exists and setup.py requires it; only message_types.py and its tests refer to it.
"""
