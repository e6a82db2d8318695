# SPDX-License-Identifier: Apache-2.0
"""Sources of velocity commands: gamepad, arcs, paths and obstacle avoidance."""
