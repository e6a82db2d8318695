"""Pictures and films of a simulated run."""
