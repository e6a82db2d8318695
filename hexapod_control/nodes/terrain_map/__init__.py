# SPDX-License-Identifier: Apache-2.0
"""The node terrain_map: the heights of the ground around the robot, from depth sensors and feet."""
