"""Setting out in a gait, and going over to the one that was asked for: when, and by which way.

A change is planned as soon as the speed suits the new gait. If no plan fits, a third gait on the way may; if that does
not either, it is tried again as the cycle goes on, and only at last taken as it is, at the cost of some speed.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.abilities import Abilities
from hexapod_control.core.gait_change import SLIGHT, leg_states, plan
from hexapod_control.core.gaits import Gait
from hexapod_control.core.schedule import Change
from hexapod_control.core.se2 import Twist
from hexapod_control.core.stability import margin
from hexapod_control.core.stance import Point, Stance
from hexapod_control.core.walker import Walker

PATIENCE = 1.2  # [s] for a plan that fits
NEARLY = 0.06  # [swing times] by which a plan may overstep for one that fits to be a matter of waiting ...
SOON = 0.5  # [s] for so long, before a way by a third gait is taken
RETRY = 0.06  # [s] between two tries
WELL = 0.02  # [m] static margin at which it does not matter which feet lift off first


def first_phase(gait: Gait, contacts: Sequence[Point], center: Point) -> float:
    """Phase at which a robot with all feet down sets out: 0, unless other feet hold it better while the first swing.

    Contact points and centre of mass in base_footprint [m]. Feet may be anywhere after a halt, the body in any pose.
    """

    def held(phase: float) -> float:
        aloft = gait.aloft(phase)
        return margin([contact for leg, contact in enumerate(contacts) if leg not in aloft], center)

    return 0.0 if held(0.0) >= WELL else max(gait.lift_off, key=held)


class GaitControl:
    """The gait asked for, and how far the change has come."""

    def __init__(self, able: Abilities, gait: Gait) -> None:
        self._able = able
        self._asked = gait
        self.wanted: Gait | None = None  # a gait to change to, once the speed suits it
        self._by_way = False  # is the change under way a detour to the one wanted
        self._waited = 0.0  # [s] for a plan that fits
        self._due = 0.0  # [s] until the next try

    def copy(self) -> GaitControl:
        """An independent control in the same state."""
        other = GaitControl.__new__(GaitControl)
        other.__dict__.update(self.__dict__)
        return other

    def ask(self, gait: Gait, walker: Walker) -> None:
        """Goes over to a gait as soon as it can be."""
        self._asked, self._by_way, self._waited, self._due = gait, False, 0.0, 0.0
        schedule = walker.schedule
        self.wanted = None if gait is schedule.gait and schedule.change is None else gait

    def halt(self, walker: Walker) -> None:
        """The walk stops, and with it a change under way; it is made up for."""
        self._by_way = False
        self.wanted = None if self._asked is walker.schedule.gait else self._asked

    def step(
        self, dt: float, walker: Walker, twist: Twist, swing_time: float, stance: Stance, height: float, room: float
    ) -> None:
        """Plans the change once it can be; arguments as the walk has them, [s] and [m]."""
        gait = self.wanted
        free = walker.schedule.change is None or not self._by_way
        if gait is None or not free:
            return
        if not walker.running:
            self.wanted = None
            walker.schedule.enter(gait, 0.0)
            return
        self._due -= dt
        if self._due > 0.0 or not self._suits(gait, height, room, twist):
            return

        def planned(goal: Gait) -> tuple[Change, float]:
            states = leg_states(walker, goal, twist, swing_time, self._able.robot, stance, room)
            return plan(walker.schedule, states, goal, self._able.margins)

        change, over = planned(gait)
        soon = over <= NEARLY and self._waited < SOON
        if over > SLIGHT and not (self._by_way or soon):
            others = [
                g
                for g in self._able.gaits.values()
                if g not in (gait, walker.schedule.gait) and self._suits(g, height, room, twist)
            ]
            detour, detour_over = min((planned(g) for g in others), key=lambda found: found[1], default=(change, over))
            if detour_over <= SLIGHT:
                self._by_way, self._waited = True, 0.0
                walker.schedule.change = detour
                return
        if over > SLIGHT and self._waited < PATIENCE:
            self._waited += RETRY
            self._due = RETRY
            return
        self.wanted, self._by_way = None, False
        walker.schedule.change = change

    def _suits(self, gait: Gait, height: float, room: float, twist: Twist) -> bool:
        """True if the executed twist is within what a gait can do."""
        return self._able.envelope.limit(gait, height, room, twist).twist == twist
