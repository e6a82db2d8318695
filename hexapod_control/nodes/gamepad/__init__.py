"""The node gamepad: reads a Linux input device and publishes joy."""
