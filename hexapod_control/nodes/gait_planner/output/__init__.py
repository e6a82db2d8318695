"""Publishers of gait_planner: targets, states, markers."""
