"""The section `servos` of a robot file: joints, calibration and bus options."""
