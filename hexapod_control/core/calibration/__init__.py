# SPDX-License-Identifier: Apache-2.0
"""Self-calibration: joint zeros, lengths, hips and the mounting of the IMU from poses on planted feet."""
