"""The steps of the guided calibration: wiggle, check, rest, marks and limits, dots."""
