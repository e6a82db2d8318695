"""The thread that drives the servos: arming, command limits, telemetry, faults."""
