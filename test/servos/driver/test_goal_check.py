# SPDX-License-Identifier: Apache-2.0
"""Goals that servos have received with another value are noticed on a noisy line, and sent again."""

import pytest

from hexapod_control.servos.bus.bus_interface import BusCounters, RawScale
from hexapod_control.servos.driver.servo_readings import GoalCheck
from hexapod_control.servos.protocols.loopback import LoopbackBus

IDS = tuple(range(1, 19))


class GoalBus:
    """Servos that report the goals they have received; those of `unresponsive` ids receive nothing."""

    ids = IDS
    scale = RawScale("tick", 0, 4095, 2048, 650.0)

    def __init__(self):
        self.goals, self.sent, self.read, self.unresponsive = {}, [], [], set()
        self.counters = BusCounters()

    def write_goals(self, goals, duration):
        self.sent.append((goals, duration))
        self.goals |= {servo: goal for servo, goal in goals.items() if servo not in self.unresponsive}

    def received_goals(self, ids):
        self.read.append(list(ids))
        return {servo: self.goals[servo] for servo in ids if servo in self.goals}


def send(check, bus, goal):
    goals = dict.fromkeys(IDS, goal)
    bus.write_goals({servo: min(goal, 4095) for servo in IDS}, 0.025)
    check.sent(goals, 0.025)


def test_a_goal_that_arrived_with_another_value_is_counted_and_sent_again_alone():
    bus = GoalBus()
    check = GoalCheck(bus, 18, one_by_one=False)
    send(check, bus, 2000)
    bus.goals[7] = 4000
    assert check.repair() == 1
    assert bus.sent[-1] == ({7: 2000}, 0.025)
    assert bus.counters.wrong_goals == 1
    assert check.repair() == 0
    assert len(bus.sent) == 2


@pytest.mark.parametrize("missed", [1, 3])
def test_a_goal_that_did_not_arrive_is_sent_again_and_is_not_wrong(missed):
    bus = GoalBus()
    check = GoalCheck(bus, 18, one_by_one=False)
    send(check, bus, 2000)
    bus.unresponsive = {7}
    for step in range(missed):
        send(check, bus, 2010 + step)
    assert check.repair() == 0
    assert bus.sent[-1] == ({7: 2009 + missed}, 0.025)


def test_goals_beyond_the_range_count_as_received_when_they_are_at_its_end():
    bus = GoalBus()
    check = GoalCheck(bus, 18, one_by_one=False)
    send(check, bus, 5000)
    assert check.repair() == 0
    assert len(bus.sent) == 1


def test_servos_that_are_read_one_by_one_take_turns():
    bus = GoalBus()
    check = GoalCheck(bus, 13, one_by_one=True)
    for cycle in range(6):
        send(check, bus, 2000 + cycle)
        check.repair()
    assert {len(ids) for ids in bus.read} == {3}
    assert sorted(servo for ids in bus.read for servo in ids) == list(IDS)


def test_servos_that_report_no_goals_get_none_again():
    bus = LoopbackBus(IDS)
    check = GoalCheck(bus, 18, one_by_one=False)
    check.sent(dict.fromkeys(IDS, 2000), 0.025)
    assert check.repair() == 0
