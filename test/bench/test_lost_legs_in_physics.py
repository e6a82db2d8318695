# SPDX-License-Identifier: Apache-2.0
"""A leg is lost during a walk in physics: no fall, no collision, and the robot follows its command."""

import math

import pytest
from support.drives import robot_and_urdf
from support.suite.soak import SOAK, cases

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import Twist, log
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, FULL_SHARE, planar_pose, standing_lockstep
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

DEVIATION = {"phantomx": 0.03, "article": 0.06}  # of the speed from the commanded one, on five legs
DEVIATION_ON_FOUR = 0.15
MAX_TILT = {5: 3.0, 4: 5.0}  # [deg] by legs that walk
CYCLES, CYCLE_TICKS = 2 if SOAK else 1, 600
LEGS = load("phantomx").robot.leg_names
DISTINCT_LEGS = ("left_front", "left_rear", "left_middle")  # the others are mirror images of these
PAIRS = (("left_middle", "right_middle"), ("left_rear", "right_front"), ("left_front", "right_rear"))
DISTINCT_PAIRS = PAIRS[:2]


class Walker:
    """A simulated robot that walks forward at half of its top speed, with records of its motion."""

    def __init__(self, name):
        self.lockstep = standing_lockstep(*robot_and_urdf(name), WorldSettings())
        self.planner = self.lockstep.planner
        self.least_margin, self.most_tilt = math.inf, 0.0
        self.lockstep.reach(self.planner.view.maxima().scaled(0.5)._replace(vy=0.0, wz=0.0))

    def tick(self):
        """A tick with all checks."""
        plan = self.lockstep.tick()
        x, y, _, _ = self.lockstep.simulation.reading().orientation
        self.least_margin = min(self.least_margin, plan.margin)
        self.most_tilt = max(self.most_tilt, math.degrees(2.0 * math.hypot(x, y)))
        assert not self.lockstep.simulation.unwanted_contacts() and self.lockstep.unreachable == 0
        return plan

    def lose(self, leg):
        """Loses a leg; returns when the robot walks again."""
        assert self.planner.change_leg(leg, lost=True) is None
        while self.planner.view.changing_legs:
            self.tick()

    def speed_ratio(self, direction):
        """Achieved by commanded speed over whole cycles along an axis (0: x, 1: y), at 90 % of the maximum."""
        speed = [0.0, 0.0, 0.0]
        speed[direction] = 0.9 * self.planner.view.maxima()[direction]
        self.planner.command(Twist(*speed))
        while abs(self.tick().twist[direction]) < FULL_SHARE * abs(speed[direction]):
            pass
        self._until_lift_off()
        start = planar_pose(self.lockstep.simulation)
        ticks = sum(self._until_lift_off() for _ in range(CYCLES))
        moved = log(start.inverse() @ planar_pose(self.lockstep.simulation), ticks * CONTROL_PERIOD_S)
        return moved[direction] / speed[direction]

    def _until_lift_off(self):
        """Ticks until the first leg that walks lifts off."""
        view = self.planner.view
        row = next(row for row, name in enumerate(self.planner.robot.leg_names) if name not in view.lost_legs)
        stood = False
        for ticks in range(1, CYCLE_TICKS):
            planted = self.tick().planted[row]
            if stood and not planted:
                return ticks
            stood = planted
        pytest.fail("no leg lifted off")


@pytest.mark.parametrize(("name", "leg"), cases(DEVIATION, LEGS if SOAK else DISTINCT_LEGS))
def test_soak_of_any_lost_leg_while_walking_after_which_the_robot_goes_on_as_commanded_without_tipping(name, leg):
    walker = Walker(name)
    walker.lose(leg)
    ratios = [walker.speed_ratio(0), walker.speed_ratio(1)]
    assert ratios == pytest.approx([1.0, 1.0], abs=DEVIATION[name])
    assert walker.least_margin > 0.005 and walker.most_tilt < MAX_TILT[5]


@pytest.mark.parametrize(("name", "pair"), cases(DEVIATION, PAIRS if SOAK else DISTINCT_PAIRS))
def test_soak_of_two_lost_opposite_legs_after_which_the_robot_crawls_on_the_other_four_without_tipping(name, pair):
    walker = Walker(name)
    for leg in pair:
        walker.lose(leg)
    assert walker.speed_ratio(0) == pytest.approx(1.0, abs=DEVIATION_ON_FOUR)
    assert walker.least_margin > 0.005 and walker.most_tilt < MAX_TILT[4]
