"""What gait_planner publishes: targets, states, markers."""
