# SPDX-License-Identifier: Apache-2.0
"""Feet while walking: stance, swings, drops to the ground, stride regions and the region guard."""
