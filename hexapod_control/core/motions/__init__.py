"""Choreographed motions: their steps, their rehearsal and their execution on the planner."""
