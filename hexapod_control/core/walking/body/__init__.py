"""The body over the feet: pose, levelling, and recovery of the static margin."""
