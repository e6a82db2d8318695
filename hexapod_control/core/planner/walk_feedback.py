# SPDX-License-Identifier: Apache-2.0
"""What sensors say about the walk, and what follows from it: course, load of the feet, and progress.

`step` compares the plan of each tick with the measured one. The corrections apply from the next tick on: the course to
the twist of the feet (`CourseControl.shares`), the loads to the published targets (`targets`).
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp, log
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.sensing.joint_tracking import JointTracking, TrackedTick
from hexapod_control.core.sensing.mishap_watch import MishapWatch
from hexapod_control.core.sensing.progress_watch import ProgressSample, ProgressWatch
from hexapod_control.core.sensing.sensor_inputs import Contacts, SensorInputs
from hexapod_control.core.statics.leg_compliance import holding_angles
from hexapod_control.core.statics.static_stability import (
    GRAVITY,
    MIN_SUPPORTING_FEET,
    foot_loads,
    upwards,
    weight_on_ground,
)
from hexapod_control.core.steering.course_control import CourseControl, CourseSample
from hexapod_control.core.walking.load_sharing import HeldLoads, LoadedTick, LoadSharing, exchanging
from hexapod_control.core.walking.walk_controller import WalkController

LEVEL_SHARE = 0.5  # of the loads that legs hold on flat ground: not too much even for servos twice as stiff as known


class WalkFeedback(Copyable):
    """The feedback of one robot."""

    def __init__(self, legs: WalkingLegs) -> None:
        """Starts without corrections."""
        self._motions: list[tuple[Twist, Twist]] = []  # executed and intended ones of the last ticks, newest first
        self._pose = Pose(0.0, 0.0, 0.0)  # of the body over its footprint in the last plan
        self.sharing = LoadSharing(legs.whole)  # of all legs
        self.held = HeldLoads(legs.whole)
        self.use_legs(legs)

    def use_legs(self, legs: WalkingLegs) -> None:
        """Changes to other legs; the trims of the feet stay."""
        self._legs = legs
        self.sharing.restart()
        robot = legs.capabilities.robot
        self.tracking = JointTracking(robot)
        self.course = CourseControl(robot)
        self.progress = ProgressWatch(robot)
        self._weight = robot.mass * GRAVITY  # [N]

    def step(
        self,
        dt: float,
        plan: TickPlan,
        measured: Sequence[float] | None,
        walk: WalkController | None,
        sensors: SensorInputs,
        watch: MishapWatch,
        *,
        rises: bool,
        walking: bool,
    ) -> None:
        """Processes a tick of `dt` [s] with measured joints (3 n) [rad] of the walking legs; None: unknown.

        `walk` is that of a robot on its feet; `rises`: all its feet bear load while the body rises.
        """
        if len(plan.planted) != len(self._legs.rows):
            return  # the plan is that of the legs before a change in this tick
        loads = self._foot_loads(sensors.contacts)
        support = plan.support.tolist()
        held = self._hold(dt, plan, support, walk, sensors)
        tracked = None
        if plan.feet is not None and plan.joint_angles is not None and measured is not None:
            tracked = TrackedTick(plan.joint_angles, plan.feet, support, measured, loads, held)
        self.tracking.step(dt, tracked)
        loaded = self._loaded(plan, support, loads, walk) if walk is not None or rises else None
        self.sharing.step(dt, loaded, sensors.adaptation.trim)
        if walk is None:
            return
        clock = walk.motion.clock
        walks = walking and walk.motion.running
        imu = sensors.imu
        trusted = watch.slow_mishap is None and watch.stuck is None and not self.tracking.held
        moved = self.tracking.moved
        executed, intended = self._executed(dt, plan, walk.body.sway.offset, walks=walks)
        sample = CourseSample(executed, intended, imu.heading, moved, clock.phase, clock.gait.name, walks, trusted)
        self.course.step(dt, sample, sensors.adaptation.course)
        wanted = not walk.speed.halted and not walk.speed.command.is_zero
        if walks and sensors.mishap_detection.legs and wanted:
            tracking = self.tracking
            way = ZERO if moved is None and tracking.known else moved
            pushed = tracking.work(executed.scaled(dt)) / self._weight
            # Feet that walk faster by the correction are to make more way.
            due = walk.corrected(plan.twist)
            cycle = clock.gait.cycle * walk.speed.swing_time
            seen = ProgressSample(
                due, walk.wanted, way, tracking.slip, pushed, tracking.errors, imu.tilt, watch.slips, cycle
            )
            self.progress.step(dt, seen)
        else:
            self.progress.rest()

    def _executed(self, dt: float, plan: TickPlan, sway: tuple[float, float], *, walks: bool) -> tuple[Twist, Twist]:
        """The twist, and the motion with pose and sway [m] of the body, that the body executes now.

        A walking one executes a plan as late as its joints follow their targets.
        """
        x, y = sway
        pose = Pose(plan.pose.x + x, plan.pose.y + y, plan.pose.yaw)
        intended = log(self._pose.inverse() @ exp(plan.twist, dt) @ pose, 1.0)
        self._pose = pose
        late = int(self.tracking.delay)
        self._motions = [(plan.twist, intended), *self._motions[: late + 1]]
        if not walks:
            return plan.twist, intended
        newer = self._motions[min(late, len(self._motions) - 1)]
        share = self.tracking.delay - late
        executed, intended = (_between(a, b, share) for a, b in zip(newer, self._motions[-1], strict=True))
        return executed, intended

    def targets(self, joints: Array) -> Array:
        """Targets (n, 3) [rad] of all servos for planned joint angles: with the trims, and beyond by the held loads."""
        return self.sharing.trimmed(self.held.applied(joints))

    def _hold(
        self, dt: float, plan: TickPlan, support: list[float], walk: WalkController | None, sensors: SensorInputs
    ) -> Array | float:
        """Moves the held loads for `dt` [s]; returns by how much [rad] the targets are beyond the planned joints."""
        rows = self._legs.rows
        holding = self._holding(plan, support, walk, sensors)
        self.held.step(dt, rows if holding else (), holding)
        return self.held.angles[list(rows)] if self.held.active else 0.0

    def _holding(
        self, plan: TickPlan, support: list[float], walk: WalkController | None, sensors: SensorInputs
    ) -> list[LegJoints]:
        """Angles [rad] by which the legs hold their loads; empty if they do not.

        Where feet feel a slope, the loads are those along gravity on the feet that are known to bear some, or on the
        planned ones if too few do. In a walk over ground that is taken for flat they are LEVEL_SHARE of the planned.
        """
        tilt = sensors.imu.tilt
        if walk is None or plan.joint_angles is None:
            return []
        robot = self._legs.capabilities.robot
        terrain = walk.motion.terrain
        force = (0.0, 0.0, LEVEL_SHARE)
        if terrain is None:
            if not walk.motion.running or sensors.adaptation.trim <= 0.0 or self.tracking.sag is None:
                return []
        elif not terrain.steepness or tilt is None:
            return []
        else:
            x, y, z = upwards(tilt)
            force = (terrain.steepness * x, terrain.steepness * y, terrain.steepness * z)
            bearing = terrain.bearing(walk.motion.feet)
            if sum(bearing) >= MIN_SUPPORTING_FEET:
                points = [(a, b) for a, b in plan.contacts.tolist()]
                center = weight_on_ground(robot, plan.joint_angles.tolist(), walk.body.placement, tilt)
                support = foot_loads(points, bearing, center, self._weight)
        x, y, z = force
        rows = zip(robot.legs, plan.joint_angles.tolist(), support, strict=True)
        return [holding_angles(leg, (a, b, c), (load * x, load * y, load * z)) for leg, (a, b, c), load in rows]

    def _foot_loads(self, contacts: Contacts) -> tuple[float, ...] | None:
        """Measured loads [N] of the walking legs, 0 below the threshold of a contact; None if unknown."""
        if contacts.sample is None or contacts.fault:
            return None
        loads = [load if touches else 0.0 for load, touches in zip(contacts.sample, contacts.feet, strict=True)]
        return self._legs.of_whole(loads)

    def _loaded(
        self, plan: TickPlan, support: list[float], loads: Sequence[float] | None, walk: WalkController | None
    ) -> LoadedTick | None:
        """The loads of a tick; None if they are unknown, or say nothing about the heights of the feet."""
        walks = walk is not None and walk.motion.running
        rows = self._legs.rows
        if loads is None and self.tracking.sag is not None and not walks:
            # Only at rest: legs that move are off their targets without load, too.
            loads = self.sharing.loads_by_sag(self.tracking.sag, rows)
        if loads is None or (walks and not all(self.tracking.proven)):
            return None
        delay = round(self.tracking.delay)
        if walk is None:
            return LoadedTick(rows, support, loads, plan.planted, None, plan.joint_angles, delay)
        motion = walk.motion
        if motion.terrain is not None or not (walks or motion.all_in_stance):
            return None
        if walks:
            return LoadedTick(rows, support, loads, exchanging(motion), motion.clock.phase, plan.joint_angles, delay)
        return LoadedTick(rows, support, loads, plan.planted, None, plan.joint_angles, delay)


def _between(one: Twist, other: Twist, share: float) -> Twist:
    """The motion that is a share of the way from one to the other."""
    return Twist(*(a + share * (b - a) for a, b in zip(one, other, strict=True)))
