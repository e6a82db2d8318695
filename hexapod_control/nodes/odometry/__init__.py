# SPDX-License-Identifier: Apache-2.0
"""The node odometry: dead reckoning from joints, supporting feet and an IMU, and usage counters."""
