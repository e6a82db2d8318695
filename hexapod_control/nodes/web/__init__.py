# SPDX-License-Identifier: Apache-2.0
"""The node web: passes commands of the web page to ROS, and the state of the robot to the page."""
