# SPDX-License-Identifier: Apache-2.0
"""Memory for the candidates of a leg: the allocator keeps what was used once, as by gait_planner for a lost leg."""

import tracemalloc
from dataclasses import replace

from support.drives import robot

from hexapod_control.core.workspace.strides.leg_centers import stride_choices


def test_the_candidates_of_a_leg_need_little_memory_even_while_they_are_searched():
    machine = robot("phantomx")
    machine = replace(machine, walk=replace(machine.walk, height=machine.walk.height + 1e-4))  # not searched yet
    tracemalloc.start()
    try:
        found = stride_choices(machine, machine.legs[0], 1.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.speeds.size > 1000
    assert peak < 5e6, peak
