"""Detection of mishaps: falls, lifts, stuck legs and slipping feet."""
