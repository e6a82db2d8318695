"""What the graph `display` shows: the URDF of the robot and the configuration of RViz."""
