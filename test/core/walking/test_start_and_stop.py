# SPDX-License-Identifier: Apache-2.0
"""When a robot starts and stops stepping: with a command, or until its feet are back on their footholds."""

import pytest
from support.drives import robot

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.statics.static_stability import center_of_mass
from hexapod_control.core.walking.body.body_control import BodyControl
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import STANCE as STANDS
from hexapod_control.core.walking.foot import Foot, Guided, Swing
from hexapod_control.core.walking.gait_change import first_phase
from hexapod_control.core.walking.speed_control import SpeedControl
from hexapod_control.core.walking.walk_controller import is_stepping, start_or_stop
from hexapod_control.core.workspace.capabilities import Capabilities

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
STANCE = CAPABILITIES.stances.at(MACHINE.walk.height)
JOINTS = joints_at_offset(MACHINE, STANCE.footholds, 0.0)
FORWARD = Twist(0.05, 0.0, 0.0)


class Walk:
    """A standing robot; its third foot may be off its foothold, or in another state."""

    def __init__(self, off=0.0, state=STANDS):
        self.motion = FootMotion(
            [Foot(x, y) for x, y in STANCE.footholds], GaitClock(CAPABILITIES.gaits["tripod"]), 0.03
        )
        self.motion.feet[2].x += off
        self.motion.feet[2].state = state
        self.body, self.speed = BodyControl(CAPABILITIES, NEUTRAL), SpeedControl(CAPABILITIES)

    def stepping(self, goal=ZERO):
        return is_stepping(goal, self.motion, self.body, self.speed, CAPABILITIES.stances)

    def runs(self, goal=ZERO):
        """Whether the clock runs after a tick."""
        start_or_stop(goal, self.motion, self.body, self.speed, STANCE, MACHINE, JOINTS)
        return self.motion.running


@pytest.mark.parametrize(("off", "steps"), [(0.0, False), (0.0049, False), (0.0051, True)])
def test_a_standing_robot_steps_with_a_command_or_if_a_foot_is_five_millimetres_off_its_foothold(off, steps):
    assert Walk(off).stepping() == Walk(off).runs() == steps
    assert Walk(off).stepping(FORWARD) and Walk(off).runs(FORWARD)
    braking = Walk(off)
    braking.speed.twist = FORWARD
    assert braking.stepping() and braking.runs()


@pytest.mark.parametrize("state", [Guided(((0.0, 0.0, 0.1),)), Swing(0.5, 1.0, 0.03)])
def test_a_robot_does_not_start_while_a_foot_is_guided_or_in_the_air_after_a_halt_or_in_a_pose_that_it_cannot_walk_in(
    state,
):
    busy, halted, low = Walk(0.01, state), Walk(0.01), Walk(0.01)
    halted.speed.halt()
    low.body.request(NEUTRAL._replace(roll=0.6))
    while not low.body.pose.still or low.body.pose.now == NEUTRAL:
        low.body.step(0.02, False, low.motion.feet)
    assert not low.body.pose.walkable
    for walk in (busy, halted, low):
        assert not walk.stepping() and not walk.runs() and not walk.runs(FORWARD)
        walk.motion.running = True
        assert walk.stepping()


@pytest.mark.parametrize(("off", "stops"), [(0.0019, True), (0.0021, False)])
def test_the_clock_stops_once_the_robot_and_all_feet_rest_within_two_millimetres_of_their_footholds(off, stops):
    walk = Walk(off)
    walk.motion.start()
    assert walk.runs(FORWARD)
    walk.speed.twist = FORWARD
    assert walk.runs()
    walk.speed.twist = ZERO
    walk.motion.feet[4].state = Swing(0.9, 1.0, 0.03)
    assert walk.runs()
    walk.motion.feet[4].state = STANDS
    assert walk.runs() == (not stops)


def test_a_walk_starts_at_the_phase_at_which_the_planted_feet_support_the_robot_best():
    walk = Walk()
    for foot in walk.motion.feet[::2]:
        foot.x, foot.y = 0.55 * foot.x, 0.55 * foot.y
    contacts = [(foot.x, foot.y) for foot in walk.motion.feet]
    center = center_of_mass(MACHINE, JOINTS)[:2]
    assert walk.runs(FORWARD)
    assert walk.motion.clock.phase == first_phase(walk.motion.clock.gait, contacts, center)
