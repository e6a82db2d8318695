"""From joint targets to the commands that servos may get: interpolation, arming ramp, watchdog, speed limit."""
