"""The subcommands for servos on a bus: find and test them, calibrate them, emulate them."""
