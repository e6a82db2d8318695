"""Motions requested by name or as the content of a file."""
