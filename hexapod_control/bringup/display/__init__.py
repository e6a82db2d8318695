"""Inputs of the graph `display`: the URDF of the robot and the configuration of RViz."""
