"""The I2C bus of this machine, or an emulated one, and the chips on it."""
