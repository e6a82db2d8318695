"""The highest speed that any choice of footholds allows, beside the robot's own."""
