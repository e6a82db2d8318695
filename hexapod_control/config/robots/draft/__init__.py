"""A robot that is not in a file yet: what is known of it, its stance, and writing it as a robot file with drawings."""
