"""Consistency of the values of a robot file with each other, beyond the bounds of each."""
