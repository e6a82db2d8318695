"""Node imu_driver: an IMU on I2C."""
