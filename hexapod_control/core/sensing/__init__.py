# SPDX-License-Identifier: Apache-2.0
"""Foot contacts, body tilt, foot forces and odometry from measured joints."""
