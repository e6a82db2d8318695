"""What `hexapod bench` measures: the tick against C, the graph against bare relays, the walk in physics."""
