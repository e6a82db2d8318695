# SPDX-License-Identifier: Apache-2.0
"""The next foothold of every leg on the ground that is seen, chosen leg by leg while the robot walks.

The foothold of a leg is chosen shortly before it lifts off, and anew as often as scans come, until its foot is on the
way down: one leg in a tick, so that a tick costs little. Footholds are kept in odom and passed to the walk in
base_footprint of the present tick.

Contacts judge the map: where a foot touches down, some ground under its sole has to be at its height, and the heights
of the last touch-downs must not fit the map much better if it is shifted, see `map_shift`. A map that does not fit, or
of which nothing newer comes, is not used: the feet feel the ground, and the robot walks slowly until a map fits again.

Ground about which nothing is known is no foothold, unless it may be explored by feet: then a foot steps there as on the
plane of the others, and searches the ground down to SEEN_DEPTH below it, while no other foot lifts off. If it finds
none, or slides off an edge, the walk stops, and the foot goes back to where it has lifted off. Only gaits with one leg
in the air at a time explore: in faster ones the robot would lean on that foot.

No foot is put down where the map does not permit it. A leg without a foothold does not lift off; one in the air that
has none any more goes back to where it has lifted off, which bore it; and the walk stops. Its course is refused until
another one is commanded, or every map of EVIDENCE_S has had a foothold for that step: one noisy map is no ground. The
step is asked about where the robot stands, as odom may drift meanwhile. Feet that other motions put down at a
given place are checked by `forbids`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.swing_trajectory import AIM_FROZEN
from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.fits import fit_plane
from hexapod_control.core.kinematics.frame_tree import FramePose
from hexapod_control.core.kinematics.se2 import Twist, moved_point
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Point, Robot, Vector
from hexapod_control.core.sensing.mishap_watch import Mishap, MishapKind
from hexapod_control.core.sensing.progress_watch import RefusedCourse
from hexapod_control.core.terrain.foothold_choice import (
    ROUGHNESS,
    Foothold,
    FootholdChooser,
    Missing,
    NoFoothold,
    Step,
)
from hexapod_control.core.terrain.ground_view import GroundView, Plane, plane_around
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.terrain.map_shift import COUNT, EVIDENCE, FITS, MapShift
from hexapod_control.core.terrain.permitted_ground import forbidden
from hexapod_control.core.terrain.trunk_clearance import raise_over
from hexapod_control.core.walking import guided_legs
from hexapod_control.core.walking.feet.foot_motion import AIM_SPEED, LANDING, FootMotion
from hexapod_control.core.walking.foot import SEEN_EVEN, Foot, SeenFoothold, Swing
from hexapod_control.core.walking.terrain import SEEN_DEPTH
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.strides.stride_table import Disc

CHOSEN = 0.5  # [swing times] before its lift-off, from which the foothold of a leg is chosen
DECIDED = 0.25  # [swing times] before its lift-off, from which a leg without a foothold stops the walk
RENEWED_S = 0.25  # after which it is chosen anew, in a swing of 0.6 s once or twice
FELT = 1.6  # [distance of the farthest foothold] around the start, in which unseen ground counts as that of the feet
ABOUT = 1.25  # [distance of the farthest foothold] around the robot, in which ground that is one plane is even
OLD_S = 3.0  # without a newer map, after which it is not used
SLOW_SHARE = 0.5  # of the speed, without the map with which the robot has walked
JUDGED = 8  # last touch-downs that are compared with the map ...
DOUBTED = 3  # ... of which so many do not fit a map that is not used any more; one that fits again fits all
MISFIT = 0.025  # [m] between a foot and the ground on the map
EVIDENCE_S = 1.0  # for which each newer map has to show a foothold where there was none ...
EVIDENCE_MAPS = 5  # ... at least so many maps
RETURN_CYCLES = 3  # of the gait, in which each foot of a robot at rest has at least two steps to its place
PROBED_S = 0.4  # without contact, after which a foot has found no ground: it sinks SEEN_DEPTH in half of it


class Sight(Enum):
    """Whether a map of the ground is used."""

    NONE = "none"  # there has been none, or it is switched off
    USED = "used"
    LOST = "lost"  # nothing newer has come
    MISFIT = "misfit"  # the feet stand elsewhere
    SHIFTED = "shifted"  # they would fit it if it were shifted


NOT_HERE = "no_foothold_ahead", "drive another way"
DOUBTS = {
    Sight.LOST: Statement(
        "map_old",
        "nothing new on terrain_map for {seconds:g} s: the robot feels its way and walks slowly; is terrain_map "
        "running, and does its camera see?",
        seconds=OLD_S,
    ),
    Sight.MISFIT: Statement(
        "map_misfit",
        "the map terrain_map does not fit the feet: {doubted} of the last {judged} stood more than {misfit:.0f} mm "
        "above or below it: the robot feels its way and walks slowly; check the mounting of the camera in the robot "
        "file, and odom",
        **{"doubted": DOUBTED, "judged": JUDGED, "misfit": 1e3 * MISFIT},
    ),
    Sight.SHIFTED: Statement(
        "map_shifted",
        "the map terrain_map lies beside the ground, as the last {count} touch-downs show: the robot feels its way and "
        "walks slowly; check the mounting of the camera in the robot file, and odom",
        count=COUNT,
    ),
}


class _Question(NamedTuple):
    """Where a foot can stand after a step."""

    view: GroundView
    step: Step
    twist: Twist
    placement: Placement
    plane: tuple[float, float, float]
    explores: bool

    def answer(self, chooser: FootholdChooser) -> Foothold | Missing:
        choose = chooser.explore if self.explores else chooser.choose
        return choose(*self[:-1])


class FootholdPlan(Copyable):
    """The footholds of one robot."""

    def __init__(self, robot: Robot) -> None:
        """Sees nothing yet; `robot` has the legs that walk."""
        self.robot = robot
        self._chooser = FootholdChooser(robot)
        self.grid: TerrainGrid | None = None
        self._base: FramePose | None = None
        self._chosen: tuple[Foothold | Missing | None, ...] = (None,) * len(robot.legs)
        self._since = (math.inf,) * len(robot.legs)  # [s] since these choices
        self.refused = RefusedCourse(robot.foothold_radius)  # on which a leg had no foothold
        self._questions: tuple[_Question | None, ...] = (None,) * len(robot.legs)  # to which these are the answers
        self._question: _Question | None = None  # about the step for which the course is refused
        self._stood: FramePose | None = None  # base_link in odom when the question was asked last, at rest
        self._shown = (0, 0.0)  # maps that have shown a foothold for it without a break, and for how long [s]
        self.sight = Sight.NONE
        self.speed_share = 1.0  # (0 to 1) at which the robot walks with what it sees
        self._age = 0.0  # [s] since a newer map came
        self._fits: tuple[bool, ...] = ()  # whether the last touch-downs fit the map
        self._map_shift = MapShift()
        self._start: Point | None = None  # [m] in odom, where the robot began to use the map
        farthest = max(math.dist((0.0, 0.0), foothold) for foothold in robot.footholds)  # [m]
        self._felt = FELT * farthest  # [m]
        self._about = ABOUT * farthest  # [m]
        self._planted: tuple[bool, ...] = (True,) * len(robot.legs)  # in the last tick
        self._plane: Plane | None = None  # of the ground about the robot ...
        self._plane_of: float | None = None  # ... on the map of this time [s]
        self._raised_by: float | None = None  # time [s] of the map by which the trunk was raised last
        self._checked: float | None = None  # time [s] of the map by which the neutral footholds were checked last
        # [s] for which each foot has felt for unknown ground, 0 in the air; None: it does not
        self._probing: tuple[float | None, ...] = (None,) * len(robot.legs)
        self._origins: tuple[Point, ...] = ((0.0, 0.0),) * len(robot.legs)  # [m] from a foot to where it has lifted off
        self._borne: tuple[Point, ...] = ()  # [m] in odom, where the feet stood when the robot lay down
        self._returning = 0.0  # [s] for which the robot has stepped on the spot
        self._unsupported: int | None = None  # leg (row) whose foot has found no ground, until it goes back

    def see(self, grid: TerrainGrid | None, base: FramePose | None) -> None:
        """Takes the newest map and pose of base_link in odom: rotation (3, 3) and position (3,) [m]."""
        if grid is None:
            self._turn_to(Sight.NONE)
            self._fits = ()
            self._map_shift.forget()
            self.accept()
        elif self.grid is None or grid.time != self.grid.time:
            self._age = 0.0
            if self.sight in (Sight.NONE, Sight.LOST):
                self._turn_to(Sight.USED)
        self.grid = grid
        self._base = None if base is None else FramePose(*base)

    @property
    def mishap(self) -> Mishap | None:
        """A leg without a foothold, or the reason for which the map is not used; None without any."""
        doubt = DOUBTS.get(self.sight)
        return self.refused.mishap or (Mishap(MishapKind.SLOWED, doubt) if doubt else None)

    def _turn_to(self, sight: Sight) -> None:
        self.sight = sight
        if sight is not Sight.USED:
            self._start = None
        self.speed_share = SLOW_SHARE if sight in DOUBTS else 1.0

    def step(self, dt: float, walk: WalkController, touching: Sequence[bool] | None, *, explores: bool = False) -> None:
        """Chooses, and passes the footholds on to the walk, in a tick of `dt` [s].

        `explores` is whether feet may probe ground that is unknown; it needs contacts.
        """
        motion = walk.motion
        if explores or self._unsupported is not None or any([time is not None for time in self._probing]):
            self._probe(dt, walk, touching)
        self._return(dt, walk)
        if motion.running:
            self._borne = ()
        self._age += dt
        if self.sight is not Sight.NONE and self._age > OLD_S:
            self._turn_to(Sight.LOST)
        if self.grid is None or self._base is None or self.sight is Sight.LOST:
            self.forget(walk)
            return
        self._since = tuple(since + dt for since in self._since)
        self._ask_again(dt, walk)
        # While it is driven, feet return to them only after a deadlock, see `mishap_response`.
        if self._checked != self.grid.time and (walk.speed.command.is_zero or not motion.running):
            self._checked = self.grid.time
            walk.forbidden = self.forbidden_neutral(walk)
        if not (walk.stepping or motion.any_in_air):  # the feet stay where they have found a place
            return
        landed = self._landed(motion, touching)
        due = self._due(walk)
        if not landed and not due and all([found is None or _even(found) for found in self._chosen]):
            return  # nothing has changed since the last tick
        standing = [
            foot.at
            for leg, foot in enumerate(motion.feet)
            if foot.state.planted and (touching is None or touching[leg])
        ]
        view = self._view(walk.body.placement, standing)
        if view is not None:
            self._judge(view, landed)
            self._raise_trunk(view, walk)
        if view is None or self.sight is not Sight.USED:
            self.forget(walk)
            return
        for leg in due:
            self._choose(leg, view, walk, explores=explores and touching is not None)
        self._stop_before_missing(walk, explores=explores)
        motion.seen = tuple(map(partial(_seen, view), motion.feet, self._chosen, self._returned(walk)))
        motion.on_plane = view.plane is not None

    def _raise_trunk(self, view: GroundView, walk: WalkController) -> None:
        """Raises the trunk before a step that is higher than it, once for each map."""
        if self._raised_by != view.grid.time and not walk.speed.command.is_zero:
            self._raised_by = view.grid.time
            cycle = walk.motion.clock.gait.cycle * walk.speed.swing_time
            walk.body.raise_by(raise_over(view, self.robot, walk.body.requested_height, walk.wanted, cycle))

    def _view(self, placement: Placement, standing: Sequence[Vector]) -> GroundView | None:
        """The ground about a body in a placement, by feet [m] that stand; None without a map."""
        if self.grid is None or self._base is None:
            return None
        if self._start is None:
            x, y, _ = self._base[1].tolist()
            self._start = x, y
        if self._plane_of != self.grid.time:
            self._plane_of = self.grid.time
            x, y, _ = self._base[1].tolist()
            self._plane = plane_around(self.grid, (x, y), self._about)
        return GroundView.of(self.grid, self._base, placement, standing, self._start, self._felt, self._plane)

    def forbids(
        self, placement: Placement, standing: Sequence[Vector], at: Vector, *, unknown: bool = True
    ) -> Missing | None:
        """Why the map that is used does not permit a foot at (x, y, z) [m] in base_footprint; None: it does.

        It does where a foot stood when the robot lay down.

        `placement` is that of the body, `standing` are the feet [m] on the ground; `unknown` is whether ground that is
        unknown is forbidden, too.
        """
        view = self._view(placement, standing) if self.sight is Sight.USED else None
        return None if view is None else self._forbidden(view, at, unknown=unknown)

    def _forbidden(self, view: GroundView, at: Vector, *, unknown: bool = True) -> Missing | None:
        place = view.to_odom(*at)[:2]
        borne = any(math.dist(place, foot) < self.robot.foot_radius for foot in self._borne)
        return None if borne else forbidden(view, self.robot, at, unknown=unknown)

    def lie_down(self, walk: WalkController) -> None:
        """Keeps where the feet of a robot stand that lies down from now on: this ground has borne it."""
        view = self._view(walk.body.placement, ())
        self._borne = () if view is None else tuple(view.to_odom(*foot.at)[:2] for foot in walk.motion.feet)

    def forbidden_neutral(self, walk: WalkController) -> dict[int, Missing]:
        """The legs, by row, whose neutral foothold the map does not permit, except those that stand there."""
        feet = walk.motion.feet
        standing = [foot.at for foot in feet if foot.state.planted]
        view = self._view(walk.body.placement, standing) if self.sight is Sight.USED else None
        found = {}
        for leg, (foot, (x, y)) in enumerate(zip(feet, walk.regions.footholds, strict=True)):
            there = foot.state.planted and math.dist((foot.x, foot.y), (x, y)) < self.robot.foot_radius
            missing = None if there or view is None else self._forbidden(view, (x, y, 0.0))
            if missing is not None:
                found[leg] = missing
        return found

    def _ask_again(self, dt: float, walk: WalkController) -> None:
        """Ends the refusal of a course once all maps have had a foothold for its step for long enough."""
        if self._question is None:
            return
        if self.refused.mishap is None:
            self.accept()
            return
        if not walk.at_rest or self.grid is None or self._base is None:
            self._stood = None
            self._shown = (0, 0.0)
            return
        count, time = self._shown
        view = self._question.view
        if view.grid is self.grid:
            self._shown = count, time + dt if count else 0.0
            return
        view = replace(view if self._stood is None else view.moved(self._stood, self._base), grid=self.grid)
        self._stood = self._base
        self._question = self._question._replace(view=view)
        found = isinstance(self._question.answer(self._chooser), Foothold)
        self._shown = (count + 1, time + dt) if found else (0, 0.0)
        if self._shown[0] >= EVIDENCE_MAPS and self._shown[1] >= EVIDENCE_S:
            self.accept()

    def accept(self) -> None:
        """Refuses no course any more: the robot may be elsewhere."""
        self.refused.mishap = None
        self._question = None
        self._stood = None
        self._shown = (0, 0.0)

    def _due(self, walk: WalkController) -> list[int]:
        """Legs whose foothold is to be chosen now: the one that has waited longest, and those that lift off soon."""
        motion = walk.motion
        waiting = []
        urgent = []
        for leg, (foot, since, back) in enumerate(zip(motion.feet, self._since, self._returned(walk), strict=True)):
            planted = foot.state.planted
            found = self._chosen[leg]
            if since < RENEWED_S or back or _frozen(foot) or (isinstance(found, Missing) and not planted):
                continue
            until = motion.clock.stance_time(leg, 0.0) if planted else 0.0
            if until < CHOSEN or motion.twist_is_zero:
                waiting.append(leg)
            late = until < DECIDED and (since > 2.0 * RENEWED_S or _is_open(foot, found))
            if planted and (late or not (motion.running or walk.speed.halted)):
                urgent.append(leg)
        return urgent or [max(waiting, key=self._since.__getitem__)] if waiting else []

    def _returned(self, walk: WalkController) -> list[bool]:
        """Which feet stand where they are to stay while the robot comes to rest: each steps there once."""
        rests = walk.speed.command.is_zero and walk.speed.twist.is_zero
        choices = zip(walk.motion.feet, self._chosen, self._questions, strict=True)
        return [
            rests and question is not None and question.twist.is_zero and _is_open(foot, found)
            for foot, found, question in choices
        ]

    def forget(self, walk: WalkController) -> None:
        """Chooses nothing: the walk is that without a map."""
        if self.sight is Sight.NONE:  # while a map is only lost, there may still be a step under the trunk
            walk.body.raise_by(0.0)
        self._chosen = (None,) * len(self.robot.legs)
        self._since = (math.inf,) * len(self.robot.legs)
        self._checked = None
        walk.motion.seen = ()
        walk.motion.on_plane = False
        walk.forbidden = {}

    def _return(self, dt: float, walk: WalkController) -> None:
        """Halts a robot at rest whose feet do not meet their places in RETURN_CYCLES of steps on the spot."""
        motion = walk.motion
        self._returning = self._returning + dt if motion.running and motion.twist_is_zero else 0.0
        if self._returning > RETURN_CYCLES * motion.clock.gait.cycle * walk.speed.swing_time:
            walk.give_up()

    def _probe(self, dt: float, walk: WalkController, touching: Sequence[bool] | None) -> None:
        """Holds the other feet while one feels for unknown ground, and stops the walk if it finds none."""
        motion = walk.motion
        probing: list[float | None] = []
        if self._unsupported is not None and walk.at_rest:
            guided_legs.bring_back(motion.feet[self._unsupported], self._origins[self._unsupported])
            self._unsupported = None
        for leg, (foot, found, time) in enumerate(zip(motion.feet, self._chosen, self._probing, strict=True)):
            if not foot.state.planted:
                probing.append(0.0 if isinstance(found, Foothold) and found.probed else None)
            elif time is None or touching is None:
                probing.append(None)
            else:  # it stands there: it may still slide off an edge that it has felt
                probing.append(0.0 if touching[leg] else time + dt)
        self._probing = tuple(probing)
        self._origins = tuple(
            (foot.state.origin[0] - foot.x, foot.state.origin[1] - foot.y) if isinstance(foot.state, Swing) else origin
            for foot, origin in zip(motion.feet, self._origins, strict=True)
        )
        if motion.terrain is not None:
            motion.terrain.probing = frozenset(leg for leg, time in enumerate(probing) if time)
        if self.refused.mishap is not None or walk.speed.command.is_zero:
            return
        for leg, (name, time) in enumerate(zip(self.robot.leg_names, probing, strict=True)):
            if time is not None and time > PROBED_S:
                self._unsupported = leg
                text = "{leg} finds no ground within {depth:.0f} mm below the other feet; it stops: drive another way"
                self._refuse(walk, Statement("no_ground", text, leg=name, depth=1e3 * SEEN_DEPTH))
                return

    def _refuse(self, walk: WalkController, said: Statement, question: _Question | None = None) -> None:
        self._question = question
        course = walk.speed.command if walk.speed.twist.is_zero else walk.speed.twist
        self.refused.refuse(course, Mishap(MishapKind.NO_FOOTHOLD, said), lasts=True)
        walk.halt()

    def _landed(self, motion: FootMotion, touching: Sequence[bool] | None) -> list[Vector]:
        """The feet [m] that have touched down in this tick."""
        if touching is None:
            return []
        before = self._planted
        self._planted = tuple([foot.state.planted and touching[leg] for leg, foot in enumerate(motion.feet)])
        return [foot.at for foot, now, then in zip(motion.feet, self._planted, before, strict=True) if now and not then]

    def _judge(self, view: GroundView, landed: Sequence[Vector]) -> None:
        """Compares feet that have just touched down with the map."""
        if not landed:
            return
        errors = [self._chooser.misfit(view, foot) for foot in landed]
        self._fits = (*self._fits, *(error < MISFIT for error in errors if math.isfinite(error)))[-JUDGED:]
        for foot in landed:
            self._map_shift.touch(view, foot)
        misfits = len(self._fits) - sum(self._fits)
        if misfits >= DOUBTED:
            self._turn_to(Sight.MISFIT)
        elif self._map_shift.evidence >= EVIDENCE:
            self._turn_to(Sight.SHIFTED)
        elif misfits == 0 and len(self._fits) == JUDGED and self._map_shift.evidence <= FITS:
            self._turn_to(Sight.USED)

    def _stop_before_missing(self, walk: WalkController, *, explores: bool) -> None:
        """Stops the walk if a leg in the air, or one that lifts off soon, has no foothold."""
        motion = walk.motion
        if self.refused.mishap is not None or walk.speed.command.is_zero:
            return
        for leg, missing in self.missing.items():
            if not motion.feet[leg].state.planted or motion.clock.stance_time(leg, 0.0) < DECIDED:
                name = self.robot.leg_names[leg]
                explorable = explores and missing.why is NoFoothold.UNKNOWN and not _one_by_one(motion)
                kind, hint = ("explore_here", "explore it in the gait wave") if explorable else NOT_HERE
                text = f"no foothold ahead of {{leg}}: {{seen}}; it stops: {hint}"
                self._refuse(walk, Statement(kind, text, leg=name, seen=in_words(missing)), self._questions[leg])
                return

    @property
    def missing(self) -> dict[int, Missing]:
        """Legs without a foothold, by row."""
        return {leg: found for leg, found in enumerate(self._chosen) if isinstance(found, Missing)}

    def _choose(self, leg: int, view: GroundView, walk: WalkController, *, explores: bool) -> None:
        motion = walk.motion
        foot = motion.feet[leg]
        before = self._chosen[leg]
        step = _step(leg, foot, motion, walk, before if isinstance(before, Foothold) and not before.even else None)
        others = [_expected(other) for row, other in enumerate(motion.feet) if row != leg]
        plane = fit_plane(others) or (0.0, 0.0, 0.0)
        may = explores and _one_by_one(motion)
        question = _Question(view, step, walk.speed.twist, walk.body.placement, plane, may)
        found = question.answer(self._chooser)
        self._questions = (*self._questions[:leg], question, *self._questions[leg + 1 :])
        self._chosen = (*self._chosen[:leg], found, *self._chosen[leg + 1 :])
        self._since = (*self._since[:leg], 0.0, *self._since[leg + 1 :])


def _step(leg: int, foot: Foot, motion: FootMotion, walk: WalkController, before: Foothold | None) -> Step:
    swing_time = walk.speed.swing_time
    strides = walk.last_strides
    state = foot.state
    if isinstance(state, Swing):
        until = (1.0 - state.progress) * swing_time
        stance = state.stance_time * swing_time
        disc = strides.disc(leg, foot.region)
    else:
        until = (motion.clock.stance_time(leg, 0.0) + 1.0) * swing_time
        stance = motion.clock.gait.stance_time * swing_time
        disc = strides.disc(leg, strides.regions[leg])
    disc = Disc(disc.center, LANDING * disc.radius)
    # For the speed that is wanted: a foot placed for that to which guards have slowed the body would keep it slow.
    nominal = disc.clamped(*moved_point(walk.wanted, 0.5 * stance, *disc.center), 1.0)
    if not isinstance(state, Swing):
        return Step(leg, foot.at, nominal, disc, until, stance, before, None, walk.wanted)
    free = AIM_FROZEN * state.timing.travel_end - state.progress + state.lag
    change = AIM_SPEED * free * swing_time
    return Step(leg, foot.at, nominal, disc, until, stance, before, state.end or 0.0, walk.wanted, change)


def in_words(missing: Missing) -> Statement:
    """What was seen there."""
    height = 1e3 * abs(missing.drop)
    match missing.why:
        case NoFoothold.UNKNOWN:
            return Statement("ground_unknown", "the ground there is unknown")
        case NoFoothold.BLOCKED:
            return Statement("ground_touched", "the leg would touch the ground")
        case _ if abs(missing.drop) <= ROUGHNESS:
            return Statement("ground_uneven", "the ground there is uneven")
        case _ if missing.drop > 0.0:
            return Statement("ground_drop", "drop of {height:.0f} mm", height=height)
        case _:
            return Statement("ground_step", "step of {height:.0f} mm", height=height)


def _one_by_one(motion: FootMotion) -> bool:
    """Whether one leg at a time is in the air in this gait."""
    return motion.clock.gait.stance_time > len(motion.feet) - 1.5


def _frozen(foot: Foot) -> bool:
    state = foot.state
    return isinstance(state, Swing) and state.progress - state.lag >= AIM_FROZEN * state.timing.travel_end


def _expected(foot: Foot) -> Vector:
    """Where a foot stands or will stand [m]."""
    state = foot.state
    return (*state.aim, state.end or 0.0) if isinstance(state, Swing) else foot.at


def _even(found: Foothold | Missing) -> bool:
    return isinstance(found, Foothold) and found.even


def _is_open(foot: Foot, found: Foothold | Missing | None) -> bool:
    """Whether the next foothold is not chosen yet: the foot stands on the last one."""
    return found is None or (isinstance(found, Foothold) and foot.state.planted and not (found.even or found.path))


def _seen(view: GroundView, foot: Foot, found: Foothold | Missing | None, returned: bool) -> SeenFoothold | None:
    if isinstance(found, Missing) or returned:
        back = foot.state.origin if isinstance(foot.state, Swing) else foot.at
        return SeenFoothold(*back, even=False, held=True)
    if found is None or _is_open(foot, found):
        return None
    if found.even:
        return SEEN_EVEN
    return SeenFoothold(*view.to_footprint(*found.contact), even=False, path=found.path)
