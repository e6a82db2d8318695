# SPDX-License-Identifier: Apache-2.0
"""Renders pictures and films of a simulation."""
