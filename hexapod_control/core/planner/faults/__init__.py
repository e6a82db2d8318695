"""States after faults, and what leads to them: unknown pose, lost leg, fall, lift, stuck leg."""
