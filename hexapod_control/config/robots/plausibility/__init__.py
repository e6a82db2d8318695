"""Rules that find values of a robot file that are within bounds, yet hardly those of a real robot."""
