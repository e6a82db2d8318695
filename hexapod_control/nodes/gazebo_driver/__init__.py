# SPDX-License-Identifier: Apache-2.0
"""Node gazebo_driver: the joints and the feet of a robot that Gazebo simulates."""
