"""Renders pictures and films of a simulation."""
