"""The node graphs of a robot: which processes they have, with which parameters, and how these start and stop."""
