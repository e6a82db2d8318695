"""Self-calibration: joint zeros, lengths, hips and the mounting of the IMU from poses on planted feet."""
