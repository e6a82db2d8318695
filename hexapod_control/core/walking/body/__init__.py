"""The body over the feet: pose, levelling, and what is done when the static margin gets too small."""
