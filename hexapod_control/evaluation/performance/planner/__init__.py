"""Measures the CPU time of a planner tick, compared with the same kinematics in C, and walks in physics."""
