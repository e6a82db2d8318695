# SPDX-License-Identifier: Apache-2.0
"""Emulated chips of an I2C bus, register by register, and the bus that they share."""
