"""Postures: sitting down, standing up, folding for transport, and taking over a standing robot."""
