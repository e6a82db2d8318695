# SPDX-License-Identifier: Apache-2.0
"""Plausibility rules: find values of a robot file that are within bounds but unlikely for a real robot."""
