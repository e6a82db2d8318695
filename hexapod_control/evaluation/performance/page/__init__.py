"""Measures frame rate, latency and network load of the page in Chromium."""
