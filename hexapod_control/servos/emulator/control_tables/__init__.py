"""Control tables of the emulated servos, one file per series, after their manufacturers' manuals."""
