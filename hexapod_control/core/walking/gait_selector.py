"""Setting out in a gait, and going over to the one that was asked for: when, and by which way.

A change is planned as soon as the speed suits the new gait. If no plan fits, a third gait on the way may; if that does
not either, it is tried again as the cycle goes on, and only at last taken as it is, at the cost of some speed.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.gait.gait_clock import GaitChange
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Point
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.walking.foot_motion import FootMotion
from hexapod_control.core.walking.gait_transition import SLIGHT, leg_states, plan
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import StanceRegions

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
        aloft = gait.legs_in_swing(phase)
        return static_margin([contact for leg, contact in enumerate(contacts) if leg not in aloft], center)

    return 0.0 if held(0.0) >= WELL else max(gait.lift_off, key=held)


class GaitSelector:
    """The gait asked for, and how far the change has come."""

    def __init__(self, capabilities: Capabilities, gait: Gait) -> None:
        self._capabilities = capabilities
        self._asked = gait
        self.wanted: Gait | None = None  # a gait to change to, once the speed suits it
        self._by_way = False  # is the change under way a detour to the one wanted
        self._waited = 0.0  # [s] for a plan that fits
        self._due = 0.0  # [s] until the next try

    def copy(self) -> GaitSelector:
        """An independent control in the same state."""
        other = GaitSelector.__new__(GaitSelector)
        other.__dict__.update(self.__dict__)
        return other

    def ask(self, gait: Gait, walker: FootMotion) -> None:
        """Goes over to a gait as soon as it can be."""
        self._asked, self._by_way, self._waited, self._due = gait, False, 0.0, 0.0
        schedule = walker.schedule
        self.wanted = None if gait is schedule.gait and schedule.change is None else gait

    def halt(self, walker: FootMotion) -> None:
        """The walk stops, and with it a change under way; it is made up for."""
        self._by_way = False
        self.wanted = None if self._asked is walker.schedule.gait else self._asked

    def step(
        self,
        dt: float,
        walker: FootMotion,
        twist: Twist,
        swing_time: float,
        stance: StanceRegions,
        height: float,
        room: float,
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

        def planned(goal: Gait) -> tuple[GaitChange, float]:
            states = leg_states(walker, goal, twist, swing_time, self._capabilities.robot, stance, room)
            return plan(walker.schedule, states, goal, self._capabilities.margins)

        change, over = planned(gait)
        soon = over <= NEARLY and self._waited < SOON
        if over > SLIGHT and not (self._by_way or soon):
            others = [
                g
                for g in self._capabilities.gaits.values()
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
        return self._capabilities.envelope.limit(gait, height, room, twist).twist == twist
