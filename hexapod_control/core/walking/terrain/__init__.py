"""Adaptation to rough ground: early and late touch-down, edges, delayed lift-offs, and the support plane."""
