"""Gait changes while walking: the moment, the phase, and a possible intermediate gait."""
