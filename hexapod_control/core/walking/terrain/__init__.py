"""Rough ground: early and late touch-down, edges, waiting lift-offs, and the support plane under the feet."""
