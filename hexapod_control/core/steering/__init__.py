"""Sources of velocity commands: gamepad, arcs, paths and obstacle avoidance."""
