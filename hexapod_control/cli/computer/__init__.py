# SPDX-License-Identifier: Apache-2.0
"""Subcommands for the computer of a robot."""
