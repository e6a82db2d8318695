# SPDX-License-Identifier: Apache-2.0
"""The twin of a real robot: a simulated one that repeats the commands of a recorded run."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from hexapod_control.bags.bag_file import BagError
from hexapod_control.bags.recorded_run import RecordedRun, Samples, from_zero
from hexapod_control.bags.run_comparison import FAR, FAR_FLOOR, JointDifference, RunComparison, aligned, compare_runs
from hexapod_control.config.robots.robot_file import RobotFile, odometry_scale
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import quaternion_angles
from hexapod_control.core.names import joint_names, leg_and_joint
from hexapod_control.core.reality import Reality
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.evaluation.lockstep import planar_pose
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

SETTLING_S = 0.5  # before the first command, in which the robot comes to rest on its feet
MAX_GAP_S = 0.5  # between two joint_states: what the robot did in a longer one is not known
MAX_JUMP = math.radians(10.0)  # of a target after such a gap: targets pause while the robot stands
MIN_LENGTH_S = 1.0
SAME_ROBOT_M = 0.01  # by which a joint may be elsewhere after a calibration
MIN_WAY_M = 0.05  # of which a share makes sense
MOSTLY = 0.7  # share of a difference by which it has one cause


class Twin:
    """Repeats the commands of a recorded run, with any errors of its robot."""

    def __init__(self, robot_file: RobotFile, run: RecordedRun) -> None:
        """Raises BagError for a run that cannot be repeated."""
        self.run = run
        self.robot = robot_file.robot
        self._urdf = urdf(robot_file)
        self._scale = odometry_scale(robot_file.document)
        self.names = joint_names(self.robot.leg_names)
        self._check()
        order = [0, *(1 + run.joint_names.index(name) for name in self.names)]
        self._targets = run.targets[:, order]
        self._samples = run.joints[run.joints[:, 0] >= run.targets[0, 0]][:, order]
        self._begin = max(0.0, float(self._targets[0, 0]))  # [s] of the comparison

    def _check(self) -> None:
        run = self.run
        if not len(run.targets):
            raise BagError(f"{run.name}: has no joint_targets: record all topics of the robot with hexapod record")
        if not len(run.joints):
            raise BagError(f"{run.name}: has no joint_states: record all topics of the robot with hexapod record")
        if set(run.joint_names) != set(self.names):
            other = sorted(set(run.joint_names) ^ set(self.names))[0]
            raise BagError(f"{run.name}: is of another robot, only one of both has the joint {other}: give its --robot")
        mine = _origins(self._urdf)
        theirs = _origins(run.description or self._urdf)
        apart = {name: math.dist(mine[name], theirs[name]) for name in self.names if name in theirs}
        worst = max(apart, key=apart.__getitem__, default="")
        if worst and apart[worst] > SAME_ROBOT_M:
            text = f"{run.name}: is of another robot, whose {worst} is {1e3 * apart[worst]:.0f} mm elsewhere"
            raise BagError(f"{text}: give its --robot")
        if not (np.isfinite(run.targets).all() and np.isfinite(run.joints).all()):
            raise BagError(f"{run.name}: has angles that are no numbers: record the run again")
        times = run.joints[run.joints[:, 0] >= run.targets[0, 0], 0]
        if len(times) < 2 or times[-1] - max(0.0, times[0]) < MIN_LENGTH_S:
            raise BagError(
                f"{run.name}: has less than {MIN_LENGTH_S:g} s of joint_states with joint_targets: record more"
            )
        self._check_gap("joint_states", times)
        jumps = np.abs(np.diff(run.targets[:, 1:], axis=0)).max(axis=1) > MAX_JUMP
        self._check_gap("joint_targets", run.targets[:, 0], jumps)

    def _check_gap(self, topic: str, times: Samples, counts: Samples | bool = True) -> None:
        gaps = np.diff(times) * counts
        if gaps.max(initial=0.0) > MAX_GAP_S:
            at = float(times[np.argmax(gaps)] - self.run.joints[0, 0])
            text = f"{self.run.name}: has no {topic} for {gaps.max():.1f} s after {at:.1f} s"
            raise BagError(f"{text}: what the robot did then is not known, record the run again")

    def replay(self, errors: Reality) -> RecordedRun:
        """The run of a robot with these errors that gets the same targets at the same times."""
        simulation = Simulation(self.robot, self._urdf, WorldSettings(), errors)
        odometry = Odometry(self.robot, self._scale)
        target = self._rows(self._targets[0])
        simulation.reset(self._rows(self._samples[0]))
        simulation.step(target, SETTLING_S)
        rows = []
        now = float(self._targets[0, 0])
        row = 0
        for time in self._samples[:, 0].tolist():
            sampled = now
            while row < len(self._targets) and self._targets[row, 0] <= time:
                simulation.step(target, float(self._targets[row, 0]) - now)
                now = float(self._targets[row, 0])
                target = self._rows(self._targets[row])
                row += 1
            simulation.step(target, time - now)
            now = time
            reading = simulation.reading()
            odometry.update(reading.joints, reading.foot_forces.tolist(), time - sampled)
            tilt = quaternion_angles(*simulation.inertial().orientation)[:2]
            rows.append([time, *odometry.pose, *planar_pose(simulation), *odometry.twist, *tilt, *reading.joints.flat])
        table = np.array(rows)
        return RecordedRun(
            name="twin",
            seconds=self.run.seconds,
            odometry=from_zero(table[:, [0, 1, 2, 3]]),
            truth=from_zero(table[:, [0, 4, 5, 6]]),
            command=self.run.command,
            velocity=table[:, [0, 7, 8, 9]],
            joint_names=self.names,
            joints=table[:, [0, *range(12, table.shape[1])]],
            targets=self._targets,
            tilt=table[:, [0, 10, 11]],
            description=self._urdf,
        )

    def compare(self, errors: Reality) -> RunComparison:
        """Compares the recorded run with that of a robot with these errors."""
        return compare_runs(self.run, self.replay(errors), self._begin)

    def _rows(self, sample: Samples) -> Array:
        return sample[1:].reshape(-1, 3)


def _origins(description: str) -> dict[str, tuple[float, ...]]:
    """The origins [m] of the joints of a URDF, in their parent links."""
    found = {}
    for joint in ElementTree.fromstring(description).iter("joint"):
        origin = joint.find("origin")
        place = "0 0 0" if origin is None else origin.get("xyz", "0 0 0")
        found[joint.get("name", "")] = tuple(float(word) for word in place.split())
    return found


def report(comparison: RunComparison) -> list[str]:
    """Lines about the joints and the body, with the outliers in a sentence."""
    joints = comparison.joint_differences()
    head = ("joint", "rms deg", "max deg", "mean deg", "twin later by ms")
    rows = [
        (
            joint.name,
            *(f"{math.degrees(value):.2f}" for value in (joint.rms, joint.largest, joint.mean)),
            f"{1e3 * joint.delay:.0f}" if math.isfinite(joint.delay) else "-",
        )
        for joint in joints
    ]
    return [*aligned([head, *rows]), "", *comparison.table(), "", *_way(comparison), *outliers(joints)]


def way_difference(comparison: RunComparison) -> tuple[float, float]:
    """Length [m] of the recorded way, and distance [m] between both ends; NaN without a way.

    It is that of the ground truth, where it was recorded, else that by odometry.
    """
    true = len(comparison.truth_difference) > 0
    apart = comparison.truth_difference if true else comparison.odometry_difference
    path = comparison.one.truth if true else comparison.one.odometry
    if not len(apart):
        return math.nan, math.nan
    path = path[(path[:, 0] >= comparison.times[0]) & (path[:, 0] <= comparison.times[-1])]
    coarse = path[:: max(1, len(path) // 50), 1:3]  # without the sway of the body
    return float(np.hypot(*np.diff(coarse, axis=0).T).sum()), float(np.hypot(*apart[-1, :2]))


def _way(comparison: RunComparison) -> list[str]:
    way, apart = way_difference(comparison)
    if not math.isfinite(way):
        return ["The way was not recorded: neither odom nor ground truth."]
    share = f", {100.0 * apart / way:.1f} % of the way" if way >= MIN_WAY_M else ""
    return [f"After {way:.2f} m the twin is {1e3 * apart:.0f} mm beside the robot{share}."]


def outliers(joints: list[JointDifference]) -> list[str]:
    """Sentences about the joints that differ far more than the others, and what that looks like."""
    limit = max(FAR_FLOOR, FAR * float(np.median([joint.rms for joint in joints])))
    far = [joint for joint in joints if joint.rms > limit]
    most = max((math.degrees(joint.rms) for joint in joints if joint.rms <= limit), default=0.0)
    if not far:
        return [f"No joint stands out: all differ by at most {most:.1f} degrees rms."]
    return [
        f"{' '.join(leg_and_joint(joint.name))} differs by {math.degrees(joint.rms):.1f} degrees rms, "
        f"the others by at most {most:.1f}: {_looks_like(joint)}."
        for joint in far
    ]


def _looks_like(joint: JointDifference) -> str:
    if abs(joint.mean) > MOSTLY * joint.rms:
        return f"it is held {math.degrees(abs(joint.mean)):.1f} degrees away; look for a load, a weak servo or a stop"
    if joint.rms_without_delay < (1.0 - MOSTLY) * joint.rms and math.isfinite(joint.delay) and joint.delay:
        later = "robot" if joint.delay < 0.0 else "twin"
        return f"the {later} is later by {1e3 * abs(joint.delay):.0f} ms"
    return "look for play, a loose horn or friction"
