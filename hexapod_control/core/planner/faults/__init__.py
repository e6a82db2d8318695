"""States after faults, and their triggers: unknown pose, lost leg, fall, lift, stuck leg."""
