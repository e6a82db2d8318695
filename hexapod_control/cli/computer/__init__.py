"""Subcommands that look after the computer of a robot."""
