# SPDX-License-Identifier: Apache-2.0
"""The I2C bus of this computer, or an emulated one, and the chips on it."""
