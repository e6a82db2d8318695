"""The highest speed with any choice of footholds, compared with the robot's own."""
