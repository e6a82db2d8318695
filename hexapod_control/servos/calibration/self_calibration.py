# SPDX-License-Identifier: Apache-2.0
"""The robot measures itself: a dialog that leads it through poses on its own feet, and writes what follows.

The first tour is made with the calibration of the robot file, whose errors let some feet hang in the air and others
slip; the next ones with what was found so far and with feet that share the load. So the first ones are short; those
that follow measure, until zeros and lengths are known well enough. All together give the result. The robot file is
written once, at the end; beside it, a record names the backup for `undo`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.section_writer import save_text, with_values
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.calibration.chain_estimate import ChainEstimate, ChainNoise, Corrections, StandingPose
from hexapod_control.core.calibration.closed_chains import ClosedChains
from hexapod_control.core.calibration.pose_choice import POSES, CalibrationPoses
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.core.calibration.tour_findings import NOTICED, estimate_finding, tour_finding
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.leg_compliance import compliance, foot_jacobian
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.servos.bus.bus_interface import RawScale, ServoQuantity
from hexapod_control.servos.calibration.dialog import DONE, Dialog, Prompt, agreed, name, yes_or_no
from hexapod_control.servos.protocol_registry import PROTOCOLS, scale
from hexapod_control.servos.settings.io_section import io_settings
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.save_servo_section import accepted
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings

SHORT_TOURS = 2  # until all feet bear load
SHORT_POSES = 10
USUAL_TOURS = 4  # more follow only if there is a finding
MAX_TOURS = 5
SERVO_NOISE = math.radians(0.05)  # [rad] of a measured angle, besides its resolution
# with which no further tour is made
GOOD_ZERO = math.radians(0.3)  # [rad] of all zeros
GOOD_LENGTH = 0.0004  # [m] of all lengths
MAX_DEVIATION = math.radians(1.0)  # [rad] of a zero that is written
USUAL_ZERO = math.radians(8.0)  # [rad] a greater correction, or one of a length or a place [m], needs a yes
USUAL_LENGTH = 0.005  # [m]
WRITTEN = 5e-5  # [m] of a length or a hip from which on it is written
LEFT_ALONE = 0.7  # share of the deviation before, from which on a zero counts as not observed
BAR = 30  # characters of the picture
SUFFIX = ".self-calibration"  # of the record, after the name of the robot file
TOURS_SUFFIX = ".tours"  # of the tours

Record = Callable[[Path, ServoSettings, PoseTour], None]
"""Takes a robot, as a file describes it, through a tour. Raises StageError."""


class TourFile:
    """Keeps the finished tours of one robot with one protocol next to its file until the end: after Ctrl-C they count.

    Write failures are ignored, so that the self-calibration continues.
    """

    def __init__(self, file: RobotFile, protocol: str) -> None:
        self._path = file.path.with_name(file.path.name + TOURS_SUFFIX)
        self._measured_for = {"robot": read_text(file.path, newline=""), "protocol": protocol}
        self._legs = len(file.robot.legs)

    def write(self, poses: Sequence[StandingPose]) -> None:
        """Keeps these poses."""
        rows = [(pose.joints.tolist(), pose.tilt, pose.loads, pose.stance) for pose in poses]
        with suppress(OSError):
            replace_file(self._path, json.dumps({**self._measured_for, "poses": rows}))

    def read(self) -> list[StandingPose]:
        """The poses, none if the robot file has changed since."""
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            rows = document.pop("poses")
            return [self._pose(*row) for row in rows] if document == self._measured_for else []
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return []

    def remove(self) -> None:
        """Forgets the poses."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _pose(
        self, joints: list[list[float]], tilt: list[float] | None, loads: list[float], stance: int
    ) -> StandingPose:
        angles = np.array(joints, dtype=float).reshape(self._legs, 3)
        pose = StandingPose(angles, (tilt[0], tilt[1]) if tilt else None, tuple(loads), int(stance))
        if len(loads) != self._legs or not all(map(math.isfinite, (*angles.ravel(), *loads, *(pose.tilt or ())))):
            raise ValueError("not a pose of this robot")
        return pose


class NotCalibratedError(RuntimeError):
    """The robot could not measure itself, with a sentence of the finding and the remedy; nothing was written."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What was found, and how far each foot (n,) [m] was, and will be, from where the robot believes it to be."""

    estimate: ChainEstimate
    before: Array
    after: Array


class SelfCalibration:
    """One self-calibration of the robot of a file. Life cycle: `run` once."""

    def __init__(
        self, load_file: Callable[[], RobotFile], settings: Callable[[], ServoSettings], record: Record, dialog: Dialog
    ) -> None:
        self._load = load_file
        self._settings = settings
        self._record = record
        self._dialog = dialog

    def run(self) -> Sentence:
        """Measures, shows the result, and writes it if the operator agrees. Returns its line of a report.

        Raises NotCalibratedError, Abandoned, RobotFileError, OSError, and what the recording raises.
        """
        file = self._load()
        settings = self._settings()
        robot = file.robot
        require_angles(settings)
        self._dialog.say(Sentence("introduction_self"))
        self._dialog.ask_again(Prompt(Sentence("on_flat_floor"), (DONE,)))
        choice = CalibrationPoses(PoseFeasibility(Capabilities.of(robot)))
        poses = [choice.chosen(count) for count in (SHORT_POSES, POSES)]
        kept = TourFile(file, settings.protocol)
        estimate = self._measure(file, settings, poses, kept)
        result = _result(robot, estimate)
        self._show(robot, settings, result)
        corrections = estimate.corrections
        agrees = self._agrees(robot, corrections)
        kept.remove()
        if not agrees:
            return Sentence("self_nothing_written")
        backup = save(file, settings, corrections)
        self._dialog.say(Sentence("saved", backup=backup.name))
        return Sentence("self_calibrated", zeros=_degrees(_rms(corrections.zeros)), **_deviations(estimate))

    def _measure(
        self, file: RobotFile, settings: ServoSettings, poses: list[list[BodyPose]], kept: TourFile
    ) -> ChainEstimate:
        """Makes short tours through the first `poses`, then long ones, until the estimate is good. Raises as `run`."""
        robot = file.robot
        chains = ClosedChains(robot, _noise(settings))
        measured = kept.read()
        number = measured[-1].stance if measured else 0
        if measured and not agreed(self._dialog.ask_again(yes_or_no(Sentence("self_continue", count=number), True))):
            measured = []
            number = 0
        used: Corrections | None = None
        while True:
            if measured:
                estimate = chains.estimate(measured)
                loads = np.array([pose.loads for pose in measured if pose.stance == number])
                finding = estimate_finding(robot, estimate, loads > 0.0, MAX_DEVIATION)
                zero, length = (float(each.max()) for each in (estimate.deviations.zeros, estimate.deviations.lengths))
                good = zero <= GOOD_ZERO and length <= GOOD_LENGTH
                if finding is not None and finding.kind in NOTICED:
                    if number > SHORT_TOURS:
                        self._dialog.say(Sentence("self_noticed", finding=Sentence.of(finding)))
                    finding = None
                if finding is None and number > SHORT_TOURS and (good or number >= USUAL_TOURS):
                    return estimate
                if finding is not None and number >= MAX_TOURS:
                    kept.remove()
                    raise NotCalibratedError(Sentence.of(finding))
                if number > SHORT_TOURS:
                    known = Sentence("self_known_to", degrees=_degrees(zero), mm=1e3 * length)
                    self._dialog.say(Sentence("self_once_more", reason=Sentence.of(finding) if finding else known))
                before = np.zeros_like(estimate.corrections.zeros) if used is None else used.zeros
                used = _for_tour(robot, estimate, before, loads)
            number += 1
            tour = self._toured(file, settings, poses[number > SHORT_TOURS], number, used)
            if (refusal := tour_finding(robot, tour)) is not None:
                raise NotCalibratedError(Sentence.of(refusal))
            measured += _of_the_file(tour, used)
            kept.write(measured)

    def _toured(
        self,
        file: RobotFile,
        settings: ServoSettings,
        poses: list[BodyPose],
        number: int,
        corrections: Corrections | None,
    ) -> PoseTour:
        """Takes the robot through the poses, with the corrections so far."""
        with tempfile.TemporaryDirectory(prefix="hexapod_") as folder:
            path = Path(folder, file.path.name)
            text = read_text(file.path, newline="") if corrections is None else corrected(file, settings, corrections)
            path.write_text(text, encoding="utf-8", newline="")
            used = settings
            loaded = load(path)
            if corrections is not None:
                joints = servo_settings(loaded, settings.protocol, settings.port).joints
                used = dataclasses.replace(settings, joints=joints)
            by_sag = ServoQuantity.LOAD not in PROTOCOLS[settings.protocol].can_read
            tour = PoseTour(loaded.robot, poses, number, loads_by_sag=by_sag)
            minutes = tour.duration / 60.0
            count = max(number, USUAL_TOURS)
            self._dialog.say(Sentence("self_tour", number=number, count=count, poses=len(poses), minutes=minutes))
            self._record(path, used, tour)
        return tour

    def _show(self, robot: Robot, settings: ServoSettings, result: _Result) -> None:
        """Shows where the feet were and will be, and what is to be changed in which joint."""
        worst = max(float(result.before.max()), 1e-6)
        rows = zip(robot.leg_names, result.before.tolist(), result.after.tolist(), strict=True)
        width = max(map(len, robot.leg_names))
        lines = [
            f"  {leg:{width}s} {'#' * round(BAR * before / worst):{BAR}s} {1e3 * before:5.1f} -> {1e3 * after:.1f} mm"
            for leg, before, after in rows
        ]
        self._dialog.say(Sentence("self_feet", feet="\n".join(lines)))
        zeros = np.degrees(result.estimate.corrections.zeros)
        deviations = np.degrees(result.estimate.deviations.zeros)
        table = [
            f"  {leg:{width}s} " + "  ".join(f"{a:+5.2f} ± {s:.2f}" for a, s in zip(row, sigma, strict=True))
            for leg, row, sigma in zip(robot.leg_names, zeros.tolist(), deviations.tolist(), strict=True)
        ]
        figures = {
            f"{joint}_{kind}": value
            for column, joint in enumerate(JOINTS)
            for kind, value in (("rms", _rms(zeros[:, column])), ("most", float(np.abs(zeros[:, column]).max())))
        }
        self._dialog.say(Sentence("self_zeros", joints=", ".join(JOINTS), table="\n".join(table), **figures))
        estimate = result.estimate
        self._dialog.say(
            Sentence(
                "self_lengths",
                most=1e3 * float(np.abs(estimate.corrections.lengths).max()),
                deviation=1e3 * _rms(estimate.deviations.lengths),
                hips=1e3 * float(np.abs(estimate.corrections.hips).max()),
                slip=1e3 * estimate.slip,
            )
        )
        if unknown := _left_alone(robot, estimate):
            self._dialog.say(Sentence("self_left_alone", names=", ".join(unknown)))

    def _agrees(self, robot: Robot, corrections: Corrections) -> bool:
        """Asks whether the result is written, about implausible values first."""
        zeros = np.abs(corrections.zeros)
        lengths = np.abs(corrections.lengths)
        if zeros.max() > USUAL_ZERO or lengths.max() > USUAL_LENGTH:
            by_zero = zeros.max() / USUAL_ZERO >= lengths.max() / USUAL_LENGTH
            row, column = np.unravel_index(int(np.argmax(zeros if by_zero else lengths)), zeros.shape)
            joint = name(f"{robot.leg_names[row]}_{JOINTS[column]}")
            question = (
                Sentence("self_large_zero", joint=joint, degrees=_degrees(float(corrections.zeros[row, column])))
                if by_zero
                else Sentence("self_large_length", joint=joint, mm=1e3 * float(corrections.lengths[row, column]))
            )
            if not agreed(self._dialog.ask_again(yes_or_no(question, False))):
                return False
        return agreed(self._dialog.ask_again(yes_or_no(Sentence("self_save"), True)))


def require_angles(settings: ServoSettings) -> None:
    """Raises NotCalibratedError for servos that report no angle."""
    if not PROTOCOLS[settings.protocol].can_read:
        raise NotCalibratedError(Sentence("self_unreported", protocol=settings.protocol))


def _noise(settings: ServoSettings) -> ChainNoise:
    """The noise of the angles of these servos."""
    step = 1.0 / min(joint.units_per_rad for joint in settings.joints)
    return ChainNoise(angle=math.hypot(SERVO_NOISE, step / math.sqrt(12.0)))


def _of_the_file(tour: PoseTour, corrections: Corrections | None) -> list[StandingPose]:
    """The poses of a tour with the angles of the calibration in the file."""
    added = 0.0 if corrections is None else corrections.zeros
    return [dataclasses.replace(pose, joints=pose.joints - added) for pose in tour.measured]


def _for_tour(robot: Robot, estimate: ChainEstimate, used: Array, loads: Array) -> Corrections:
    """What the next tour is made with, after one with zeros `used` (n, 3) [rad] and loads (m, n) in even shares.

    That is the estimate, if it is one; but a foot that bore too little reaches lower than in that tour, by what makes
    its leg give way under the load that is missing, and one that bore too much not as low.
    """
    zeros = (estimate.corrections.zeros if estimate.converged else used).copy()
    angles = standing_joints(robot)
    jacobians = np.array([foot_jacobian(leg, at) for leg, at in zip(robot.legs, angles, strict=True)])
    give = np.array([compliance(leg, at)[2, 2] for leg, at in zip(robot.legs, angles, strict=True)])
    lower = give * (1.0 - loads.mean(0) / loads.mean()) * robot.mass * GRAVITY / len(robot.legs)
    height = np.linalg.norm(jacobians[:, 2] * estimate.deviations.zeros, axis=1)
    lower = np.maximum(lower, (loads == 0.0).mean(0) * height)
    known = np.einsum("nj,nj->n", jacobians[:, 2], zeros - used)  # lower than in that tour, by the estimate
    plane = np.column_stack([robot.footholds, np.ones(len(angles))])
    known -= plane @ np.linalg.lstsq(plane, known, rcond=None)[0]  # height and tilt of the body share no load
    missing = np.where(np.sign(lower) * (lower - known) > 0.0, lower - known, 0.0)
    zeros += np.linalg.solve(jacobians, np.outer(missing, (0.0, 0.0, 1.0))[..., None])[..., 0]
    lengths, hips = (
        estimate.converged * np.clip(each, -USUAL_LENGTH, USUAL_LENGTH)
        for each in (estimate.corrections.lengths, estimate.corrections.hips)
    )
    zeros = np.clip(zeros, -USUAL_ZERO, USUAL_ZERO)
    return dataclasses.replace(estimate.corrections, zeros=zeros, lengths=lengths, hips=hips)


def _result(robot: Robot, estimate: ChainEstimate) -> _Result:
    """Distances of the feet in the neutral stance, from the corrections and from their deviations."""
    before = []
    after = []
    for row, (leg, angles) in enumerate(zip(robot.legs, standing_joints(robot), strict=True)):
        jacobian = foot_jacobian(leg, angles)
        before.append(np.linalg.norm(jacobian @ estimate.corrections.zeros[row] + estimate.corrections.hips[row]))
        variance = (jacobian**2) @ estimate.deviations.zeros[row] ** 2
        after.append(math.sqrt(float(variance.sum())))
    return _Result(estimate, np.array(before), np.array(after))


def _left_alone(robot: Robot, estimate: ChainEstimate) -> list[str]:
    """What the poses tell little about: its deviation is almost that before."""
    found = [
        f"{leg}_{joint}"
        for row, leg in enumerate(robot.leg_names)
        for column, joint in enumerate(JOINTS)
        if estimate.deviations.zeros[row, column] > LEFT_ALONE * estimate.priors.zeros[row, column]
    ]
    if (estimate.deviations.mounting > LEFT_ALONE * estimate.priors.mounting).all():
        found.append("imu")
    return found


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _degrees(angle: float) -> float:
    return math.degrees(angle)


def _deviations(estimate: ChainEstimate) -> Mapping[str, float]:
    return {"deviation": _degrees(_rms(estimate.deviations.zeros)), "length": 1e3 * _rms(estimate.deviations.lengths)}


# --- the robot file ----------------------------------------------------------------------------------------------


def corrected(file: RobotFile, settings: ServoSettings, corrections: Corrections) -> str:
    """The text of the robot file with the corrections. Raises RobotFileError if it would be refused."""
    zeros = np.ravel(corrections.zeros).tolist()
    joints = tuple(_trimmed(joint, zero) for joint, zero in zip(settings.joints, zeros, strict=True))
    units: RawScale = scale(settings.protocol, settings.options)
    text = accepted(file, dataclasses.replace(settings, joints=joints), units)
    changes: dict[tuple[str, ...], Any] = {}
    for row, leg in enumerate(file.robot.legs):
        for column, (part, segment) in enumerate(zip(JOINTS, (leg.coxa, leg.femur, leg.tibia), strict=True)):
            change = float(corrections.lengths[row, column])
            if abs(change) >= WRITTEN:
                changes["legs", leg.name, part, "length"] = round(segment.length + change, 5)
        if np.abs(corrections.hips[row]).max() >= WRITTEN:
            hip = np.array(leg.hip) + corrections.hips[row]
            changes["legs", leg.name, "hip"] = [round(value, 5) for value in hip.tolist()]
    io = io_settings(file)
    if io.imu is not None:
        turned = _turned(corrections.mounting, np.array(io.imu.mounting))
        changes["io", "imu", "mounting_deg"] = [round(math.degrees(angle), 2) for angle in turned]
    return with_values(text, changes) if changes else text


def _trimmed(joint: JointCalibration, zero: float) -> JointCalibration:
    """The joint with a corrected zero [rad]; its limits are narrowed to what its servo then reaches."""
    trimmed = dataclasses.replace(joint, trim=joint.trim + zero)
    low, high = sorted((trimmed.angle(joint.low), trimmed.angle(joint.high)))
    return dataclasses.replace(trimmed, lower=max(joint.lower, low), upper=min(joint.upper, high))


def _turned(by: Array, mounting: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] of a mounting that is turned by a correction."""
    x, y, z, w = BodyPose(0.0, 0.0, 0.0, *by.tolist()).quaternion()
    a, b, c, d = BodyPose(0.0, 0.0, 0.0, *mounting.tolist()).quaternion()
    return quaternion_angles(
        w * a + x * d + y * c - z * b,
        w * b - x * c + y * d + z * a,
        w * c + x * b - y * a + z * d,
        w * d - x * a - y * b - z * c,
    )


def save(file: RobotFile, settings: ServoSettings, corrections: Corrections) -> Path:
    """Writes the corrections into the robot file and records the backup for `undo`. Returns the backup."""
    return save_measured(file.path, corrected(file, settings, corrections), "servos")


def save_measured(path: Path, text: str, key: str) -> Path:
    """Replaces the robot file by a text and records the backup for `undo`. Returns it; raises as `save_text`."""
    backup = save_text(path, text, key)
    record = {"date": time.strftime("%Y-%m-%d %H:%M"), "backup": backup.name, "written": text}
    replace_file(_record_path(path), json.dumps(record))
    return backup


def undo(path: Path, dialog: Dialog) -> Sentence:
    """Puts the robot file back to what it was before it last measured itself; asks if it was edited since.

    Raises RobotFileError if there is nothing to undo, and OSError.
    """
    try:
        record = json.loads(_record_path(path).read_text(encoding="utf-8"))
        old = path.with_name(Path(record["backup"]).name).read_text(encoding="utf-8")
        written, date = str(record["written"]), str(record["date"])
    except (OSError, ValueError, TypeError, KeyError):
        raise RobotFileError(path, None, "", "has no self-calibration that could be undone") from None
    if read_text(path, newline="") != written and not agreed(
        dialog.ask_again(yes_or_no(Sentence("self_edited_since", date=date), False))
    ):
        return Sentence("self_nothing_written")
    backup = save_text(path, old, "servos")
    _record_path(path).unlink(missing_ok=True)
    return Sentence("self_undone", date=date, backup=backup.name)


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)
