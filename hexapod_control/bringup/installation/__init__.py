"""Sets up the computer of a robot: a table of steps that read and edit files, and a record to undo them."""
