# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and writes the YAML files that users edit."""
