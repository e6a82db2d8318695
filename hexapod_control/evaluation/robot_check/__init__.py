"""What a robot can do and what its servos must give, in plain sentences: `hexapod check`."""
