"""Trying a motion before anything moves: the real player on the real planner, only nobody follows them.

It starts where a motion starts, from the neutral stance or sitting. What counts, at every instant: every foot in
reach, no joint asked for more than it can do, the centre of mass over the feet on the ground, neighbouring legs apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from hexapod_control.core.kinematics.arrays import read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_steps import LONGEST, Choreography, MotionError
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.robot import Robot

TOO_NEAR = 0.012  # [m] between neighbouring legs that slow a motion down
TICK = 0.02  # [s]
SETTLING = 20.0  # [s] most time to get into the posture a motion starts in


class MotionRehearsal:
    """One pass of a motion, tried out tick by tick."""

    def __init__(self, robot: Robot, motion: Choreography) -> None:
        self._motion = motion
        self._ticks = _tried(robot, motion)
        self.result: RehearsedMotion | None = None

    def advance(self, ticks: int) -> RehearsedMotion | None:
        """Goes on by so many ticks; the result once there is one. Raises MotionError at the first violation."""
        for _ in range(ticks):
            if self.result is None:
                duration = next(self._ticks)
                if duration is not None:
                    self.result = RehearsedMotion(self._motion, duration)
        return self.result

    def finish(self) -> RehearsedMotion:
        """The result. Raises MotionError at the first violation, with file, line and time."""
        while self.result is None:
            self.advance(1000)
        return self.result


def _tried(robot: Robot, motion: Choreography) -> Iterator[float | None]:
    """Nothing per tick, at last the duration [s] of a pass."""
    planner = _placed(robot, motion.start)
    for _ in range(round(SETTLING / TICK)):
        if planner.state in (RobotState.STANDING, RobotState.SITTING):
            break
        planner.step(TICK)
        yield None
    player = MotionPlayer(planner)
    player.execute(RehearsedMotion(Choreography(motion.name, "", motion.steps, motion.start), 0.0))
    time = 0.0
    while player.name:
        before = time
        plan = player.step(TICK)
        time += TICK
        trouble = player.refusal or _trouble(robot, player, plan)
        if trouble:
            raise MotionError(f"{trouble} ({before:.2f} s after the start)")
        if time > LONGEST:
            raise MotionError(f"{player.place}a pass of {motion.name} takes longer than {LONGEST:g} s, or never ends")
        yield None
    yield time


def _placed(robot: Robot, start: str) -> Planner:
    """A planner whose robot is about to stand at its neutral footholds, or lies."""
    planner = Planner(robot)
    if start == "sitting":
        planner.measured(planner.lying_row)
        return planner
    neutral = joints_at_offset(robot, planner.neutral_footholds(), 0.0)
    assert neutral is not None  # a planner is only made for a robot that can stand
    planner.measured(read_only(neutral))
    return planner


def _trouble(robot: Robot, player: MotionPlayer, plan: TickPlan) -> str:
    """What is wrong with a tick, or nothing."""
    place, planner = player.place, player.planner
    if plan.unreached is not None:
        leg, reason, excess = plan.unreached
        return f"{place}the foot of {leg} is {reason.value} ({1000.0 * excess:.0f} mm or mrad beyond)"
    if plan.blocked is not None and plan.blocked.legs is not None:
        first, second = (robot.leg_names[leg] for leg in plan.blocked.legs)
        return f"{place}{first} and {second} would touch"
    if plan.margin <= 0.0:
        return f"{place}the robot would tip: its centre of mass is {-1000.0 * plan.margin:.0f} mm outside the feet"
    if planner.row_moves and planner.slowed:
        near = planner.near()
        if near is not None and near.distance < TOO_NEAR and near.legs is not None:
            first, second = (robot.leg_names[leg] for leg in near.legs)
            return f"{place}{first} and {second} would touch"
        return f"{place}a joint would be too fast: give it more time"
    if planner.row_moves and plan.row is not None and any(plan.planted):
        height = robot.walk.height + _height(robot, plan)
        lowest, highest = planner.capabilities.stances.lowest, planner.capabilities.stances.highest
        if not lowest - 1e-6 <= height <= highest + 1e-6:
            return (
                f"{place}the body would be {height:.3f} m above the ground on its feet, where it cannot walk: "
                f"{lowest:.3f} to {highest:.3f} m"
            )
    return ""


def _height(robot: Robot, plan: TickPlan) -> float:
    assert plan.row is not None
    row: list[LegJoints] = [(a, b, c) for a, b, c in plan.row.tolist()]
    return detect_support(robot, row, NEUTRAL).pose.z
