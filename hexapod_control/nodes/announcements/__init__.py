"""What nodes tell each other about themselves: that they run, and that they drive."""
