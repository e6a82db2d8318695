"""One emulated device per servo protocol."""
