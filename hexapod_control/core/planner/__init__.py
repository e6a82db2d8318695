"""The planner: a state machine that takes requests and returns one plan per tick."""
