"""What goes wrong between robot and ground: falls, lifts, legs that are stuck and feet that slip."""
