# SPDX-License-Identifier: Apache-2.0
"""The interview of `hexapod new`: questions, drawings of what to measure, and the robot that results."""
