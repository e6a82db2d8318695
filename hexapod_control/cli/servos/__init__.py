# SPDX-License-Identifier: Apache-2.0
"""The subcommands for servos on a bus: find and test them, calibrate them, emulate them."""
