"""Subcommands for the computer of a robot."""
