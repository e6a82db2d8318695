"""The states of the planner after faults: unknown pose, lost leg, fall, lift, stuck leg."""
