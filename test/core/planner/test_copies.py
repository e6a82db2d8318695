# SPDX-License-Identifier: Apache-2.0
"""A copy of a planner behaves like its original, and neither changes the other, in every state."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.sensor_inputs import Adaptation, SensorFault

NAME = "phantomx"
TICKS = 40


def run(planner: Planner, ticks: int = TICKS) -> list[np.ndarray]:
    found = []
    for tick in range(ticks):
        planner.sensors.contacts.take([4.0 + 0.001 * tick] * 6)
        plan = planner.step(DT)
        if plan.joint_angles is not None:
            found.append(plan.joint_angles)
    return found


def lying() -> Planner:
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints)
    return planner


def rising() -> Planner:
    planner = lying()
    planner.stand()
    run(planner, 10)
    return planner


def walking() -> Planner:
    planner = standing_planner(NAME)
    planner.command(Twist(0.05, 0.01, 0.1))
    run(planner, 60)
    return planner


def guiding() -> Planner:
    planner = standing_planner(NAME)
    x, y = planner.view.neutral_footholds()[0]
    planner.guide_foot_over_ground(robot(NAME).leg_names[0], (x, y, 0.04))
    run(planner, 30)
    return planner


def on_rough_ground() -> Planner:
    planner = standing_planner(NAME)
    planner.sensors.adaptation = Adaptation(touch_down=True, levelling=True)
    planner.command(Twist(0.05, 0.0, 0.0))
    run(planner, 60)
    return planner


def sinking() -> Planner:
    planner = standing_planner(NAME)
    planner.sit()
    run(planner, 15)
    return planner


def moving_joints() -> Planner:
    planner = lying()
    planner.move_joints(planner.view.lying_joints + 0.1)
    run(planner, 10)
    return planner


def folding_a_leg() -> Planner:
    planner = walking()
    planner.change_leg("left_front", lost=True)
    run(planner, 150)
    return planner


def on_five_legs() -> Planner:
    planner = folding_a_leg()
    run(planner, 150)
    assert planner.view.lost_legs and not planner.view.changing_legs
    return planner


STATES = {
    "unknown": lambda: Planner(robot(NAME)),
    "lying": lying,
    "rising": rising,
    "walking": walking,
    "guiding": guiding,
    "on rough ground": on_rough_ground,
    "sinking": sinking,
    "moving joints": moving_joints,
    "folding a leg": folding_a_leg,
    "on five legs": on_five_legs,
}


@pytest.mark.parametrize("state", STATES)
def test_a_copy_continues_like_its_original_and_independently_of_it(state):
    original, twin = STATES[state](), STATES[state]()
    copied = original.copy()
    copied.command(Twist(-0.05, 0.02, 0.0))  # the copy is sent elsewhere ...
    copied.request_pose(BodyPose(z=0.01))
    run(copied)
    assert np.array_equal(run(original), run(twin))  # ... and the original continues unaffected
    again = original.copy()
    assert np.array_equal(run(original), run(again))


def test_the_age_of_sensor_samples_is_not_shared_with_a_copy():
    planner = on_rough_ground()
    copied = planner.copy()
    for _ in range(20):
        copied.step(DT)
    assert copied.sensors.contacts.fault is SensorFault.SILENT and planner.sensors.contacts.fault is None


def changeable(value: object, place: str) -> Iterator[tuple[int, str]]:
    """Identity and place of every object in a planner that can change."""
    assert not isinstance(value, dict | set | bytearray), f"{place}: copies would share it"
    if isinstance(value, Copyable | list):
        yield id(value), place
    if isinstance(value, np.ndarray):
        assert not value.flags.writeable, f"{place}: copies would share it"
    if isinstance(value, Copyable):
        for name, part in vars(value).items():
            yield from changeable(part, f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for part in value:
            assert not isinstance(value, tuple) or not isinstance(part, Copyable), f"{place}: copies would share a part"
            yield from changeable(part, f"{place}[]") if isinstance(value, list) else ()


@pytest.mark.parametrize("state", STATES)
def test_a_copy_shares_nothing_that_can_change_and_no_part_belongs_to_two_objects(state):
    original = STATES[state]()
    places = [*changeable(original, "original"), *changeable(original.copy(), "copy")]
    found = Counter(part for part, _ in places)
    assert len(found) > 10
    assert [place for part, place in places if found[part] > 1] == []
