# SPDX-License-Identifier: Apache-2.0
"""The states of the planner after faults: unknown pose, lost leg, fall, lift, stuck leg."""
