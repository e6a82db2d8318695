"""The node odometry: dead reckoning from joints, supporting feet and an IMU, and usage counters."""
