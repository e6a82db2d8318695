# SPDX-License-Identifier: Apache-2.0
"""Postures: sitting down, standing up, folding for transport, and taking over a standing robot."""
