"""The planner: requests in, one plan per tick out, by explicit states of the robot."""
