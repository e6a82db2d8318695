# SPDX-License-Identifier: Apache-2.0
"""Judges a robot before it walks: its file, its odometry in lock step with physics, and its way with Nav2."""
