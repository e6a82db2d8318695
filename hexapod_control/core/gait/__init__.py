"""The gait as a table, its clock, and the trajectory of a swing."""
