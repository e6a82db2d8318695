# SPDX-License-Identifier: Apache-2.0
"""The terrain: the height map of what the robot sees and feels."""
