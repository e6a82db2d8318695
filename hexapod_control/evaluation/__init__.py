"""Measures quality (walks in physics) and performance (CPU time and latency)."""
