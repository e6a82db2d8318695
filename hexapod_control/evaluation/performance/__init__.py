"""Measures the CPU time and latency of a tick, the node graph, the servo bus and the page."""
