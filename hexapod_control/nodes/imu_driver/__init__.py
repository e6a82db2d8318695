# SPDX-License-Identifier: Apache-2.0
"""Node imu_driver: an IMU on I2C."""
