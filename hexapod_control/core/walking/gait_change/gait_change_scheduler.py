"""Decides when a walk changes to the requested gait, and whether directly or via an intermediate gait.

The requested gait is the selected one, or chosen from several by speed (`auto_gait`).
A change is planned (`gait_transition`) as soon as the speed suits the new gait and all feet stride about their neutral
footholds; until then the speed limiter slows the walk down. If no direct plan is feasible, a change to an intermediate
gait is tried. If that is not feasible either, planning is repeated. After PLAN_TIMEOUT_S the plan with the smallest
violation is used: the region guard then slows the body for a moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_clock import GaitChange
from hexapod_control.core.gait.gait_table import Gait, GaitSelection
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Point
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.gait_change.auto_gait import AutoGait
from hexapod_control.core.walking.gait_change.gait_transition import MAX_VIOLATION, plan_gait_change, transition_legs
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import StanceRegions

PLAN_TIMEOUT_S = 1.2  # after which the best plan is used, even if it violates a limit
NEAR_VIOLATION = 2.0  # violation below which a plan is likely to be feasible soon: planning is repeated ...
INTERMEDIATE_GAIT_TIMEOUT_S = 0.5  # ... for this time, before an intermediate gait is tried
RETRY_S = 0.06  # between two attempts to plan
SUFFICIENT_MARGIN = 0.02  # [m] static margin from which a robot starts at the usual phase of its gait


class WalkConditions(NamedTuple):
    """The walk at the time at which a change is planned."""

    twist: Twist  # executed
    swing_time: float  # [s]
    regions: StanceRegions
    height: float  # [m] of base_link above the ground
    radii_share: float  # (0 to 1) of the regions: the gait changes only with strides about the neutral footholds


def first_phase(gait: Gait, contacts: Sequence[Point], center: Point) -> float:
    """Returns the phase at which a standing robot starts, with a sufficient static margin in the first swing.

    Contact points (n, 2) and center of mass (2,) are in base_footprint [m]. After a halt, feet may be anywhere: if the
    margin at the start phase of the gait is too small, the lift-off with the greatest margin is the first.
    """

    def margin(phase: float) -> float:
        swinging = gait.legs_in_swing(phase)
        return static_margin([contact for leg, contact in enumerate(contacts) if leg not in swinging], center)

    first = gait.start_phase
    return first if first > 0.0 or margin(first) >= SUFFICIENT_MARGIN else max(gait.lift_off, key=margin)


class GaitChangeScheduler(Copyable):
    """The requested gait of one robot, and the change to it."""

    _on_detour: bool  # whether the current change leads to an intermediate gait
    _requested: Gait
    _until_retry: float  # [s]
    _waited: float  # [s] time without a feasible plan
    wanted: Gait | None  # gait to which a change is not planned yet

    def __init__(self, capabilities: Capabilities, gait: Gait) -> None:
        self._capabilities = capabilities
        self._requested = gait
        self._auto = AutoGait(capabilities.envelope, GaitSelection.of(gait), gait)
        self.wanted = None
        self._on_detour = False
        self._waited = 0.0
        self._until_retry = 0.0

    @property
    def selection(self) -> GaitSelection:
        """The selected gait, or the gaits from which one is chosen by speed."""
        return self._auto.selection

    @property
    def automatic(self) -> bool:
        """True if several gaits are selected, from which one is chosen by speed."""
        return len(self._auto.selection.gaits) > 1

    def fastest(self, motion: FootMotion) -> Gait:
        """Returns the fastest of the selected gaits; the active one if only one is selected."""
        return self._auto.selection.fastest if self.automatic else motion.clock.gait

    def select(self, selection: GaitSelection, motion: FootMotion) -> None:
        """Requests a change to the selected gait, or to the one of several that suits the speed."""
        self._auto = AutoGait(self._capabilities.envelope, selection, motion.clock.gait)
        self._request(self._auto.gait, motion)

    def choose(self, dt: float, goal: Twist, motion: FootMotion, height: float, region_share: float) -> None:
        """Requests another one of the selected gaits if the speed requires or allows it, see `AutoGait.follow`."""
        self._auto.follow(dt, goal, height, region_share, walking=motion.running)
        if self._auto.gait is not self._requested:
            self._request(self._auto.gait, motion)

    def _request(self, gait: Gait, motion: FootMotion) -> None:
        self._requested = gait
        self._on_detour = False
        self._waited = 0.0
        self._until_retry = 0.0
        clock = motion.clock
        self.wanted = None if gait is clock.gait and clock.change is None else gait

    def halt(self, motion: FootMotion) -> None:
        """Cancels a gait change when the walk stops; the requested gait is used when the walk starts again."""
        self.wanted = None if self._requested is motion.clock.gait else self._requested

    def next_gaits(self, motion: FootMotion) -> list[Gait]:
        """Returns the gaits to which the walk will change; the speed is limited for them already."""
        change = motion.clock.change
        return [gait for gait in (self.wanted, change.gait if change else None) if gait is not None]

    def step(self, dt: float, motion: FootMotion, now: WalkConditions) -> None:
        """Plans the change if possible, in a tick of `dt` [s], and passes it to the gait clock; immediately at rest."""
        gait = self.wanted
        clock = motion.clock
        if not motion.running:
            for first in self.next_gaits(motion)[:1]:
                self.wanted = None
                clock.enter(first, 0.0)
            return
        if gait is None or (clock.change is not None and self._on_detour):
            return
        self._until_retry -= dt
        if self._until_retry > 0.0 or not motion.in_neutral_regions or not self._suits(gait, now):
            return
        change, violation = self._plan(gait, motion, now)
        if violation > MAX_VIOLATION:
            if self._take_detour(gait, motion, now, violation):
                return
            if self._waited < PLAN_TIMEOUT_S:
                self._waited += RETRY_S
                self._until_retry = RETRY_S
                return
        self.wanted = None
        clock.change = change

    def _take_detour(self, gait: Gait, motion: FootMotion, now: WalkConditions, violation: float) -> bool:
        """Starts a change to an intermediate gait. Returns False if there is no feasible one, or it is too early."""
        nearly = violation <= NEAR_VIOLATION and self._waited < INTERMEDIATE_GAIT_TIMEOUT_S
        if self._on_detour or nearly:
            return False
        plans = (self._plan(other, motion, now) for other in self._others(gait, motion, now))
        best = min(plans, key=lambda plan: plan[1], default=None)
        if best is None or best[1] > MAX_VIOLATION:
            return False
        self._on_detour = True
        self._waited = 0.0
        motion.clock.change = best[0]
        return True

    def _others(self, gait: Gait, motion: FootMotion, now: WalkConditions) -> Iterator[Gait]:
        """Yields the gaits that suit the speed, except the active one and the wanted one."""
        for other in self._capabilities.gaits.values():
            if other not in (gait, motion.clock.gait) and self._suits(other, now):
                yield other

    def _plan(self, gait: Gait, motion: FootMotion, now: WalkConditions) -> tuple[GaitChange, float]:
        """Returns the best change to a gait, and its violation."""
        legs = transition_legs(
            motion, gait, self._capabilities.robot, now.regions, now.twist, now.swing_time, now.radii_share
        )
        return plan_gait_change(motion.clock, legs, gait, self._capabilities.margins)

    def _suits(self, gait: Gait, now: WalkConditions) -> bool:
        """True if the executed twist is within the limits of a gait."""
        limit = self._capabilities.envelope.limit(gait, now.height, now.radii_share, now.twist)
        return limit.twist == now.twist
