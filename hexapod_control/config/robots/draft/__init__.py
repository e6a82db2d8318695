# SPDX-License-Identifier: Apache-2.0
"""Drafts of robots, from questions or a URDF: known and assumed values, choice of stance, robot file, drawings."""
