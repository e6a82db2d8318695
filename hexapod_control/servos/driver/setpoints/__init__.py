"""From joint targets to servo commands: interpolation, arming ramp, watchdog, speed limit."""
