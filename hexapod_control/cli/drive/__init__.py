# SPDX-License-Identifier: Apache-2.0
"""The subcommands that drive a running robot: gamepad, keyboard, motions, patrols."""
