# SPDX-License-Identifier: Apache-2.0
"""Guided calibration: which servo turns which joint, its direction, scale and limits."""
