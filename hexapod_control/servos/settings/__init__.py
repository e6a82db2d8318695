# SPDX-License-Identifier: Apache-2.0
"""The section `servos` of a robot file: joints, calibration and bus options."""
