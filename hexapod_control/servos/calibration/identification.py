# SPDX-License-Identifier: Apache-2.0
"""The robot on its stand measures its servos: poses of its legs, small steps of its joints, and what follows.

One kind of joint moves at a time, in as many legs as can be read often enough; that is a third of the servos at most,
which takes less current than a walk. All legs have the same pose: they keep their distances.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.section_writer import with_section
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.calibration.joint_identification import (
    MIN_STEPS,
    JointEstimate,
    Measured,
    identify,
)
from hexapod_control.core.calibration.joint_recording import JointRecording, SweepReading
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, leg_forward
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.statics.leg_loads import weight_torques
from hexapod_control.servos.bus.bus_interface import Bus, ServoQuantity
from hexapod_control.servos.bus.bus_timing import duration
from hexapod_control.servos.calibration.dialog import DONE, Dialog, Prompt, agreed, name, yes_or_no
from hexapod_control.servos.calibration.self_calibration import save_measured
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings

STEPS_DEG = (0, 1, 3, 5, 3.5, 1.2, -1, -3.2, -5, -2.5, -0.6, 2, 4.4, 1.6, -1.7, -4.3, 0)
STEP_S = 0.4
WIDE_DEG = (-12.0, 12.0, -12.0, 0.0)  # for the speed
SWEEP_SPEED = math.radians(15.0)  # [rad/s]
COXA_SWEEP = math.radians(8.0)  # [rad] to both sides: the legs keep their distances
SWEEP_END_S = 0.4  # at both ends of a sweep, whose readings do not count
PERIOD_S = 0.01  # of the readings
LINE_SHARE = 0.8  # of that period
MARGIN = math.radians(3.0)  # [rad] to the limits of a joint
POSES = 2  # of the legs, for steps
GRID = 13  # angles of a joint that are tried
CLEARANCE_M = 0.01  # of the feet above where they stand
FOREIGN_SHARE = 0.15  # of the stall torque, beyond the weight of the leg: then something else loads the joint
MINUTES = 2.0  # of a measurement
MANY_TIMES = 2.0  # the play of the others: an outlier
TO_WRITE = "identify_save"  # kind of the last question
NOTHING_WRITTEN = "self_nothing_written"  # kind of the result, if the answer is no
CLEAR_PLAY = math.radians(0.5)  # [rad] more than the others at least


class NotIdentifiedError(RuntimeError):
    """The servos could not be measured, with a sentence of the finding and the remedy."""


class Sweep(NamedTuple):
    """A slow sweep of one kind of joint, from one end to the other and back."""

    pose: LegJoints  # [rad] at its begin
    column: int
    low: float  # [rad]
    high: float  # [rad]


Bounds = Sequence[tuple[float, float]]
"""Lower and upper limit [rad] of coxa, femur and tibia."""


def stand_poses(robot: Robot, bounds: Bounds) -> list[LegJoints]:
    """Poses of all legs in which their weight loads the servos as differently as possible.

    The feet stay above where they stand, and out of the body. Raises NotIdentifiedError if there is no such pose.
    """
    room = MARGIN + math.radians(max(map(abs, STEPS_DEG)))
    found = list(_clear(robot, bounds, room))
    if not found:
        raise NotIdentifiedError(Sentence("identify_no_pose"))
    loads = np.array([weight_torques(robot.legs[0], pose)[1:] for pose in found])
    loads = loads / np.maximum(np.ptp(loads, axis=0), 1e-9)
    chosen = [int(np.argmax(loads.sum(axis=1)))]
    while len(chosen) < min(POSES, len(found)):
        gaps = np.min([np.linalg.norm(loads - loads[each], axis=1) for each in chosen], axis=0)
        chosen.append(int(np.argmax(gaps)))
    return [found[each] for each in chosen]


def stand_sweeps(robot: Robot, bounds: Bounds) -> list[Sweep]:
    """Sweeps of all kinds of joints; those over which the torque by their weight changes most."""
    clear = list(_clear(robot, bounds, MARGIN))
    coxa, *rest = stand_poses(robot, bounds)[0]
    found = [Sweep((coxa - COXA_SWEEP, rest[0], rest[1]), 0, coxa - COXA_SWEEP, coxa + COXA_SWEEP)]
    for column in (1, 2):
        best: tuple[float, Sweep] | None = None
        for other in sorted({pose[3 - column] for pose in clear}):
            row = sorted(pose[column] for pose in clear if pose[3 - column] == other)
            gap = 1.5 * (bounds[column][1] - bounds[column][0]) / GRID
            for run in np.split(np.array(row), np.flatnonzero(np.diff(row) > gap) + 1):
                poses = [_with(clear[0][0], other, column, angle) for angle in run.tolist()]
                change = float(np.ptp([weight_torques(robot.legs[0], pose)[column] for pose in poses]))
                if len(run) > 1 and (best is None or change > best[0]):
                    best = change, Sweep(poses[0], column, float(run[0]), float(run[-1]))
        if best is not None:
            found.append(best[1])
    return found


def _with(coxa: float, other: float, column: int, angle: float) -> LegJoints:
    return (coxa, angle, other) if column == 1 else (coxa, other, angle)


def _clear(robot: Robot, bounds: Bounds, room: float) -> Iterator[LegJoints]:
    """Poses on a grid, this far [rad] within the limits."""
    inner = [(low + room, high - room) for low, high in bounds]
    coxa = min(max(0.0, inner[0][0]), inner[0][1])
    for femur in np.linspace(*inner[1], GRID).tolist():
        for tibia in np.linspace(*inner[2], GRID).tolist():
            if all(_is_clear(robot, leg, (coxa, femur, tibia)) for leg in robot.legs):
                yield coxa, femur, tibia


def _is_clear(robot: Robot, leg: Leg, pose: LegJoints) -> bool:
    knee, foot = leg_forward(leg, pose)
    lowest = robot.foot_radius + CLEARANCE_M - robot.walk.height
    out = leg.coxa.length
    return bool(foot[2] + leg.hip[2] > lowest and foot[0] > out and knee[0] > 0.0)


class StandRecorder:
    """Moves the joints of one robot on an open bus, and records them. Life cycle: `run` once, then `close`."""

    def __init__(
        self,
        bus: Bus,
        jogger: ServoJogger,
        robot: Robot,
        joints: Sequence[JointCalibration],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        progress: Callable[[float], None] = lambda share: None,
        begun: Callable[[float], float] = lambda asked: asked,
    ) -> None:
        """`progress` is called with the share that is done.

        `begun` returns when the newest transaction began [s], asked for at a time [s], on a bus that has others.
        """
        self.recordings = [JointRecording() for _ in joints]
        self._bus = bus
        self._jogger = jogger
        self._robot = robot
        self._joints = joints
        self._clock = clock
        self._sleep = sleep
        self._progress = progress
        self._begun = begun
        self._begin = jogger.positions([joint.id for joint in joints])
        motion = ServoQuantity.POSITION
        timing = lambda count: bus.timing(count, motion)  # noqa: E731
        legs = len(robot.legs)
        self._at_once = next(
            (n for n in range(legs, 1, -1) if legs % n == 0 and duration(timing, n, n) <= LINE_SHARE * PERIOD_S), 1
        )
        self._one_by_one = bus.timing(legs, motion).turnarounds > 1

    def run(self) -> None:
        """Records all joints. Raises NotIdentifiedError, BusError and what `progress` raises."""
        limits = [
            [(joint.lower, joint.upper) for joint in self._joints[column :: len(JOINTS)]]
            for column in range(len(JOINTS))
        ]
        bounds = [(max(low for low, _ in each), min(high for _, high in each)) for each in limits]
        poses = stand_poses(self._robot, bounds)
        steps = [(pose, column) for k, pose in enumerate(poses) for column in range(len(JOINTS)) if column or not k]
        sweeps = stand_sweeps(self._robot, bounds)
        moves: list[Sweep | tuple[LegJoints, int]] = [*steps, *sweeps]
        for done, move in enumerate(moves):
            pose, column = move[:2]
            for rows in self._groups():
                self._progress(done / len(moves))
                self._jogger.go(self._goals(pose))
                self._jogger.settle()
                self._check_loads(pose)
                indices = [3 * row + column for row in rows]
                if isinstance(move, Sweep):
                    self._sweep(indices, move)
                else:
                    self._steps(indices, pose, column)
                    self._require_motion(indices)

    def _require_motion(self, indices: Sequence[int]) -> None:
        for index in indices:
            if self.recordings[index].is_still:
                joint = self._joints[index]
                raise NotIdentifiedError(Sentence("identify_still", joint=name(joint.short_name), id=joint.id))

    def close(self) -> None:
        """Moves the servos back to where they were, slowly, and switches their torque off."""
        try:
            if self._jogger.holds:
                self._jogger.go(self._begin)
                self._jogger.settle()
        finally:
            self._jogger.relax()

    def _groups(self) -> Iterator[range]:
        legs = len(self._robot.legs)
        parts = legs // self._at_once
        return (range(part, legs, parts) for part in range(parts))

    def _goals(self, pose: LegJoints) -> dict[int, float]:
        return {joint.id: self._raw(index, pose[index % 3]) for index, joint in enumerate(self._joints)}

    def _raw(self, index: int, angle: float) -> int:
        return self._joints[index].clamped(self._joints[index].raw(angle))

    def _steps(self, indices: Sequence[int], pose: LegJoints, column: int) -> None:
        for index in indices:
            self.recordings[index].breaks.add(len(self.recordings[index].goals))
        for number, degrees in enumerate(STEPS_DEG):
            self._move(indices, pose, column, math.radians(degrees), PERIOD_S * (0.37 * number % 1.0))
        for index in indices:
            self.recordings[index].breaks.add(len(self.recordings[index].goals))
        for degrees in WIDE_DEG:
            self._move(indices, pose, column, math.radians(degrees))

    def _sweep(self, indices: Sequence[int], sweep: Sweep) -> None:
        """Sweeps joints there and back, slowly, and reads them."""
        for start, end in ((sweep.low, sweep.high), (sweep.high, sweep.low)):
            self._sweep_to(indices, sweep, start, end)

    def _sweep_to(self, indices: Sequence[int], sweep: Sweep, start: float, end: float) -> None:
        begin = self._clock()
        speed = math.copysign(SWEEP_SPEED, end - start)
        duration_s = (end - start) / speed
        written = begin
        behind = 0.0  # [s] of the goals, which begin after they were asked for, and hold until the next

        def take(index: int, time: float, angle: float) -> None:
            since = time - begin - behind
            if not SWEEP_END_S < since < duration_s:
                return
            pose = [*sweep.pose]
            pose[sweep.column] = start + speed * since
            torque = weight_torques(self._robot.legs[index // 3], (pose[0], pose[1], pose[2]))[sweep.column]
            self.recordings[index].sweeps.append(SweepReading(pose[sweep.column], angle, torque, speed))

        while (since := self._clock() - begin) < duration_s + SWEEP_END_S:
            angle = start + speed * min(since, duration_s)
            self._bus.write_goals({self._joints[index].id: self._raw(index, angle) for index in indices}, 0.0)
            before = written
            written = self._begun(begin + since)
            behind = written - begin - since + (written - before) / 2.0
            due = self._clock() + PERIOD_S
            self._read(indices, take)
            self._sleep(max(0.0, due - self._clock()))

    def _move(
        self,
        indices: Sequence[int],
        pose: LegJoints,
        column: int,
        offset: float,
        late: float = 0.0,
    ) -> None:
        """Sends one goal to joints, and reads them, from `late` [s] on: at other times after each goal."""
        goals = {}
        rows = {}
        for index in indices:
            joint = self._joints[index]
            angle = min(max(pose[column] + offset, joint.lower + MARGIN / 2), joint.upper - MARGIN / 2)
            goals[joint.id] = self._raw(index, angle)
            turned = [*pose]
            turned[column] = joint.angle(goals[joint.id])
            leg = self._robot.legs[index // 3]
            torque = weight_torques(leg, (turned[0], turned[1], turned[2]))[column]
            rows[index] = turned[column], torque
        asked = self._clock()
        self._bus.write_goals(goals, 0.0)
        sent = self._begun(asked)
        for index, row in rows.items():
            self.recordings[index].goals.append((sent, *row))
        end = self._clock() + STEP_S
        self._sleep(late)
        while True:
            due = self._clock() + PERIOD_S
            self._read(indices, lambda index, time, angle: self.recordings[index].readings.append((time, angle)))
            if (now := self._clock()) >= end - 1e-9:
                return
            self._sleep(max(0.0, min(due, end) - now))

    def _read(self, indices: Sequence[int], take: Callable[[int, float, float], None]) -> None:
        """Reads joints; `take` gets the index, the time [s] and the angle [rad] of each that answers.

        A servo samples its angle when it gets the request or answers: on average after half of the bytes. How long an
        adapter keeps the answer is not known, and does not matter so.
        """
        parts = [[index] for index in indices] if self._one_by_one else [list(indices)]
        for part in parts:
            begin = self._clock()
            answers = self._bus.read([self._joints[index].id for index in part], ServoQuantity.POSITION)
            sampled = self._begun(begin) + self._bus.timing(len(part), ServoQuantity.POSITION).read / 2.0
            for index in part:
                answer = answers.get(self._joints[index].id)
                if answer is not None and answer.position is not None:
                    take(index, sampled, self._joints[index].angle(answer.position))

    def _check_loads(self, pose: LegJoints) -> None:
        """Refuses a robot whose servos bear more than its legs."""
        if ServoQuantity.LOAD not in self._bus.can_read:
            return
        answers = self._bus.read([joint.id for joint in self._joints], ServoQuantity.LOAD)
        for index, joint in enumerate(self._joints):
            leg = self._robot.legs[index // 3]
            answer = answers.get(joint.id)
            if answer is None or answer.load is None:
                continue
            own = weight_torques(leg, pose)[index % 3] / leg.joints[index % 3].stall_torque
            load = joint.direction * answer.load
            if abs(load - own) > FOREIGN_SHARE:
                raise NotIdentifiedError(
                    Sentence("identify_loaded", joint=name(joint.short_name), percent=100.0 * abs(load))
                )


def require_reported(settings: ServoSettings) -> None:
    """Raises NotIdentifiedError for servos that report no angle."""
    if PROTOCOLS[settings.protocol].board_size:
        raise NotIdentifiedError(Sentence("identify_unreported", protocol=settings.protocol))


class IdentificationDialog:
    """Leads through one measurement: shows what was found, and writes it if the operator agrees."""

    def __init__(self, file: RobotFile, settings: ServoSettings, recorder: StandRecorder, dialog: Dialog) -> None:
        self._file = file
        self._settings = settings
        self._recorder = recorder
        self._dialog = dialog

    def run(self) -> Sentence:
        """Measures. Returns the line of a report; raises NotIdentifiedError, BusError, Abandoned, RobotFileError."""
        self._dialog.say(Sentence("introduction_identify", minutes=MINUTES))
        self._dialog.ask_again(Prompt(Sentence("on_stand"), (DONE,)))
        try:
            self._recorder.run()
        finally:
            self._recorder.close()
        for joint, recording in zip(self._settings.joints, self._recorder.recordings, strict=True):
            if len(recording.steps()) < MIN_STEPS:
                raise NotIdentifiedError(Sentence("identify_silent", joint=name(joint.short_name), id=joint.id))
        robot = self._file.robot
        joints = [joint for leg in robot.legs for joint in leg.joints]
        estimates = identify(self._recorder.recordings, joints)
        names = [joint.short_name for joint in self._settings.joints]
        self._dialog.say(
            Sentence("identified", title=Sentence("identify_title"), table="\n".join(map(_line, names, estimates)))
        )
        self._dialog.say(Sentence("identify_unknown"))
        for index, others in outliers(estimates):
            play = math.degrees(estimates[index].backlash.value)
            self._dialog.say(
                Sentence("identify_outlier", joint=name(names[index]), play=play, others=math.degrees(others))
            )
        if not agreed(self._dialog.ask_again(yes_or_no(Sentence(TO_WRITE), True))):
            return Sentence(NOTHING_WRITTEN)
        data = section(robot, estimates, time.strftime("%Y-%m-%d"))
        text = with_section(read_text(self._file.path, newline=""), "measured", data)
        backup = save_measured(self._file.path, text, "measured")
        return Sentence("identify_written", count=len(estimates), backup=backup.name)


def outliers(estimates: Sequence[JointEstimate]) -> list[tuple[int, float]]:
    """Joints with far more play than the others, and the median play [rad] of those."""
    plays = np.array([each.backlash.value for each in estimates])
    found = []
    for index, play in enumerate(plays.tolist()):
        others = float(np.median(np.delete(plays, index)))
        if play > max(MANY_TIMES * others, others + CLEAR_PLAY):
            found.append((index, others))
    return found


def section(robot: Robot, estimates: Sequence[JointEstimate], date: str) -> dict[str, Any]:
    """The section `measured` of a robot file."""
    rows = iter(estimates)
    legs = {leg: {joint: _entry(next(rows)) for joint in JOINTS} for leg in robot.leg_names}
    return {"date": date, **legs}


def _entry(estimate: JointEstimate) -> dict[str, list[float]]:
    values = {
        "latency": (estimate.latency, 1.0, 4),
        "backlash_deg": (estimate.backlash, math.degrees(1.0), 3),
        "stiffness": (estimate.stiffness, 1.0, 2),
        "friction": (estimate.friction, 1.0, 4),
        "no_load_speed": (estimate.no_load_speed, 1.0, 2),
        "resolution_deg": (Measured(estimate.resolution, 0.0), math.degrees(1.0), 4),
    }
    return {
        key: [round(scale * found.value, digits), round(scale * found.deviation, digits)]
        for key, (found, scale, digits) in values.items()
        if found is not None
    }


def _line(joint: str, estimate: JointEstimate) -> str:
    shown = (
        _shown(estimate.latency, 1e3, 1),
        _shown(estimate.backlash, math.degrees(1.0), 2),
        _shown(estimate.stiffness, 1.0, 1),
        _shown(estimate.friction, 1.0, 3),
        _shown(estimate.no_load_speed, 1.0, 2),
        f"{math.degrees(estimate.resolution):.3f}",
    )
    return f"  {joint:20s} {'  '.join(shown)}; {math.degrees(estimate.residual):.2f}"


def _shown(found: Measured | None, scale: float, digits: int) -> str:
    text = "-" if found is None else f"{scale * found.value:.{digits}f} ± {scale * found.deviation:.{digits}f}"
    return f"{text:>14s}"
