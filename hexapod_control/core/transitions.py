"""From one posture to the next: getting up, lying down, and taking over a robot where it is found.

Standing up starts wherever the joints were measured: in joint space to where the robot lies, then the body rises over
planted feet. A robot that is found standing keeps its feet where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hexapod_control.core import posture
from hexapod_control.core.abilities import Abilities
from hexapod_control.core.adoption import adopt
from hexapod_control.core.body import NEUTRAL, BodyPose
from hexapod_control.core.footing import footing
from hexapod_control.core.frame import Motion
from hexapod_control.core.gaits import Gait
from hexapod_control.core.kinematics import Row
from hexapod_control.core.posture import Rise
from hexapod_control.core.routes import route
from hexapod_control.core.row_motion import JointMove
from hexapod_control.core.stance import Point
from hexapod_control.core.walk import Walk


class Transitions:
    """The motions between the postures of one robot, in the order in which they are carried out."""

    def __init__(self, able: Abilities) -> None:
        self._able = able
        self._robot = able.robot
        self.home = able.stances.at(able.robot.walk.height).footholds  # [m] contact points of the neutral stance
        self._lying = posture.lying_offset(able.robot, self.home)
        row = posture.row_at(able.robot, self.home, self._lying)
        assert row is not None  # lying_offset only gives offsets in reach
        self.lying_row = row  # [rad] joints with which the robot lies before it stands up

    def getting_up(self, row: Sequence[Row], gait: Gait) -> list[Motion]:
        """From joints [rad] anywhere to standing."""
        way = (tuple(row), *route(self._robot, row, self.lying_row))
        moves = [JointMove.between(self._robot, a, b, NEUTRAL) for a, b in pairwise(way)]
        return [*moves, *self.rising(self.home, self._lying, gait)]

    def rising(self, contacts: Sequence[Point], offset: float, gait: Gait) -> list[Motion]:
        """From a body `offset` [m] from the walk height over feet at contacts [m, base_footprint] to standing."""
        return [Rise.between(self._robot, contacts, offset, 0.0), Walk(self._able, contacts, NEUTRAL, gait)]

    def sinking(self, contacts: Sequence[Point], offset: float) -> list[Motion]:
        """From a body `offset` [m] from the walk height over feet at contacts [m, base_footprint] to lying."""
        return [Rise.between(self._robot, contacts, offset, posture.lying_offset(self._robot, contacts))]

    def lying_down(self, walk: Walk) -> list[Motion]:
        """From standing to lying, the feet staying where they are."""
        return self.sinking([(foot.x, foot.y) for foot in walk.walker.feet], 0.0)

    def taking_over(self, row: Sequence[Row], gait: Gait) -> list[Motion]:
        """From joints [rad] measured under a robot that stands to the walk of that robot; nothing if it does not stand.

        Feet in the air go down below where they are; until the first command all stay there.
        """
        found = adopt(self._robot, self._able.stances, row)
        if found is None:
            return []
        walk = Walk(self._able, found.contacts, found.pose, gait)
        walk.halted = True
        return [JointMove.between(self._robot, row, found.row, found.pose), walk]

    def standing_on(self, row: Sequence[Row], pose: BodyPose, gait: Gait) -> list[Motion]:
        """The walk of a robot that ends a motion on its feet with these joints [rad]; nothing if it lies.

        `pose` is that of the body, its height apart. Feet stay where they are, on the ground or in the air.
        """
        found = footing(self._robot, row, pose)
        height = self._robot.walk.height + found.pose.z
        stances = self._able.stances
        if not stances.lowest <= height <= stances.highest or sum(found.planted) < 3:
            return []
        walk = Walk(self._able, found.contacts, found.pose, gait)
        walk.halted = True
        walk.hold(found.lifts, found.planted)
        return [walk]
