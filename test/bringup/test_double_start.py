# SPDX-License-Identifier: Apache-2.0
"""Two graphs of one robot are started at one moment: one of them drives it, the other one says why it does not."""

import pytest
from support.real_time.double_starts import observe
from support.suite.soak import some

pytestmark = [pytest.mark.heavy, pytest.mark.physics]


@pytest.mark.parametrize("processes", some(("one", "many"), "one"))
def test_of_two_graphs_that_are_started_at_one_moment_one_drives_and_the_robot_rises_once(processes):
    seen = observe(processes)
    assert seen.sound, seen
    assert "refuses to drive: /" in seen.refusals and "Traceback" not in seen.refusals
