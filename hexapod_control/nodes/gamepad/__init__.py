# SPDX-License-Identifier: Apache-2.0
"""The node gamepad: reads a Linux input device and publishes joy."""
