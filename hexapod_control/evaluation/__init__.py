"""Figures of quality (walks in physics) and of cost (CPU time and latency)."""
