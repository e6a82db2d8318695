# SPDX-License-Identifier: Apache-2.0
"""Emulated servos and boards behind a pseudo-terminal, with injected faults, for use without hardware."""
