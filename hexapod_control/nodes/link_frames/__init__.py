# SPDX-License-Identifier: Apache-2.0
"""Node link_frames: the URDF and the frames of all links, where robot_state_publisher is not installed."""
