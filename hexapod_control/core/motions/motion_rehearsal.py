# SPDX-License-Identifier: Apache-2.0
"""Motion rehearsal: before the robot moves, a motion is executed with a planner whose output is discarded.

The rehearsal uses the same player and planner as the execution, from the start posture of the motion, with a fixed time
step. It fails in the first tick in which a foot is out of reach, a joint would be too fast, the center of mass leaves
the support polygon, neighbouring legs come too close, or the body is at a height at which it cannot walk; the message
names the position of the step in its file. Otherwise the result is the duration of one pass. The rehearsal runs in
small parts between the ticks of the control loop. See docs/motions.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from hexapod_control.core.kinematics.arrays import read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_steps import MAX_DURATION_S, Choreography, MotionError
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot

MIN_CLEARANCE_M = 0.012  # between neighbouring legs, below which they are the cause of a slowed move
TICK_S = 0.02
HEIGHT_TOLERANCE_M = 1e-6  # for rounding
MAX_SETTLING_S = 20.0  # for the planner to stand or sit before the motion


class MotionRehearsal:
    """Rehearses one pass of a motion tick by tick; call `advance` until there is a result."""

    def __init__(self, robot: Robot, motion: Choreography) -> None:
        """Prepares the rehearsal; `advance` computes it."""
        self._motion = motion
        self._ticks = _rehearsal_ticks(robot, motion)
        self.result: RehearsedMotion | None = None

    @property
    def name(self) -> str:
        """Name of the motion."""
        return self._motion.name

    def advance(self, ticks: int) -> RehearsedMotion | None:
        """Advances by some ticks. Returns the result, None before the end. Raises MotionError for a violation."""
        for _ in range(ticks):
            if self.result is None:
                duration = next(self._ticks)
                if duration is not None:
                    self.result = RehearsedMotion(self._motion, duration)
        return self.result

    def finish(self) -> RehearsedMotion:
        """Finishes the rehearsal and returns its result. Raises MotionError with file, line and time of a violation."""
        while self.result is None:
            self.advance(1000)
        return self.result


def _rehearsal_ticks(robot: Robot, motion: Choreography) -> Iterator[float | None]:
    """Yields None after each tick, and finally the duration [s] of the pass."""
    planner = _planner_in_posture(robot, motion.start)
    for _ in range(round(MAX_SETTLING_S / TICK_S)):
        if planner.state in (RobotState.STANDING, RobotState.SITTING):
            break
        planner.step(TICK_S)
        yield None
    player = MotionPlayer(planner)
    player.execute(RehearsedMotion(Choreography(motion.name, "", motion.steps, motion.start), 0.0))
    time = 0.0
    while player.name:
        before = time
        plan = player.step(TICK_S)
        time += TICK_S
        violation = player.refusal or _violation(robot, player, plan)
        if violation:
            raise MotionError(
                Refusal("violation", "{violation} ({time:.2f} s after the start)", violation=violation, time=before)
            )
        if time > MAX_DURATION_S:
            raise MotionError(
                f"{player.place}a pass of {motion.name} takes longer than {MAX_DURATION_S:g} s, or never ends"
            )
        yield None
    yield time


def _planner_in_posture(robot: Robot, start: str) -> Planner:
    """Returns a planner whose robot stands in its neutral stance, or sits."""
    planner = Planner(robot)
    if start == "sitting":
        planner.set_measured_joints(planner.view.lying_joints)
        return planner
    planner.set_measured_joints(read_only(planner.capabilities.standing_joints))
    return planner


def _violation(robot: Robot, player: MotionPlayer, plan: TickPlan) -> Refusal | None:
    """Returns the violation of a limit in a tick."""
    place = player.place
    planner = player.planner
    if plan.unreached is not None:
        leg, reason, excess = plan.unreached
        where = reason.describe(excess)
        return Refusal("foot_out_of_reach", "{place}the foot of {leg} is {where}", place=place, leg=leg, where=where)
    if plan.blocked is not None and plan.blocked.legs is not None:
        return _touching(robot, place, plan.blocked.legs)
    if plan.margin <= 0.0:
        text = "{place}the robot would tip: its center of mass is {outside:.0f} mm outside the feet"
        return Refusal("would_tip", text, place=place, outside=-1000.0 * plan.margin)
    return _whole_body_violation(robot, planner, place, plan) if planner.view.whole_body_move_active else None


def _whole_body_violation(robot: Robot, planner: Planner, place: str, plan: TickPlan) -> Refusal | None:
    """Returns the violation of a whole-body move in a tick: it must keep its duration and stay at walkable heights."""
    if planner.view.slowed:
        near = planner.view.leg_clearance
        if near is not None and near.distance < MIN_CLEARANCE_M and near.legs is not None:
            return _touching(robot, place, near.legs)
        return Refusal("too_fast", "{place}a joint would be too fast: give it more time", place=place)
    if plan.joint_angles is None or not any(plan.planted):
        return None
    joints: list[LegJoints] = [(a, b, c) for a, b, c in plan.joint_angles.tolist()]
    height = robot.walk.height + detect_support(robot, joints, NEUTRAL).pose.z
    lowest, highest = planner.capabilities.stances.lowest, planner.capabilities.stances.highest
    if lowest - HEIGHT_TOLERANCE_M <= height <= highest + HEIGHT_TOLERANCE_M:
        return None
    text = "{place}the body would be {height:.3f} m above the ground on its feet, where it cannot walk: "
    text += "{lowest:.3f} to {highest:.3f} m"
    return Refusal("not_walkable", text, place=place, height=height, lowest=lowest, highest=highest)


def _touching(robot: Robot, place: str, legs: tuple[int, int]) -> Refusal:
    names = " and ".join(robot.leg_names[leg] for leg in legs)
    return Refusal("would_touch", "{place}{legs} would touch", place=place, legs=names)
