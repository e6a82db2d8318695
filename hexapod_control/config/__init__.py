"""Reads, checks and writes the YAML files that users edit."""
