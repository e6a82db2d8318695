"""Real and emulated servos: buses, protocols, the driver thread, calibration and settings."""
