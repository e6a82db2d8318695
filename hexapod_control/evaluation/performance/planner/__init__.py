"""CPU time of a planner tick, against the same kinematics in C and against physics."""
