"""Which processes make up a robot, with which parameters, and how they start and stop."""
