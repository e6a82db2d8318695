"""The planner: a state machine with requests as input and one plan per tick as output."""
