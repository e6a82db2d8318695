# SPDX-License-Identifier: Apache-2.0
"""Recorded runs without ROS: a ring of the newest messages, MCAP files, and the comparison of two runs."""
