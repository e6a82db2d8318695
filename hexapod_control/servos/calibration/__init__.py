"""Guided calibration: which servo turns which joint, its direction, scale and limits."""
