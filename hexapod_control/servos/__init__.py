# SPDX-License-Identifier: Apache-2.0
"""Real and emulated servos: buses, protocols, the driver thread, calibration and settings."""
