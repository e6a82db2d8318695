# SPDX-License-Identifier: Apache-2.0
"""The steps of the guided calibration: wiggle, check, rest, marks and limits, dots."""
