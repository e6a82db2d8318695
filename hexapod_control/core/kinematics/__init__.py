# SPDX-License-Identifier: Apache-2.0
"""Kinematics of a leg and of the whole body, planar motion, foot contact and leg clearance."""
