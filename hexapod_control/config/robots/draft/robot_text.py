# SPDX-License-Identifier: Apache-2.0
"""The robot file of a drafted robot, as commented YAML."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hexapod_control.config.robots.draft.leg_draft import LegGeometry
from hexapod_control.config.robots.draft.robot_draft import DraftServo, Origin, RobotDraft, SourcedValue
from hexapod_control.core.names import JOINTS

DIGITS = 8  # decimals of lengths [m] and angles [deg] that must agree with the URDF
COMMENT_COLUMN = 45
IMU_HEIGHT_SHARE = 0.4  # of the height of the body, above its center


@dataclass(frozen=True, slots=True)
class FileNotes:
    """Comments of a robot file on the origin of its values."""

    head: tuple[str, ...]  # lines at its top
    geometry: Origin  # of the legs
    body: str  # after the size
    limits: str  # of a joint with an unknown range
    servo: str  # remedy for a model that is not in the table
    servo_source: str
    height: str
    confirmed: Mapping[str, str] = field(default_factory=dict)  # reasons by key, as in the section of that name


def robot_text(draft: RobotDraft, notes: FileNotes) -> str:
    """The robot file."""
    head = [*(f"# {line}" for line in notes.head), "", f"name: {draft.name}", ""]
    parts = (_body(draft, notes), _leg(draft, notes), _legs(draft), _walk(draft, notes.height), _confirmed(notes))
    return "\n".join((*head, *chain.from_iterable(parts), ""))


def exact(value: float) -> str:
    """A number with the digits that the forward kinematics needs."""
    text = f"{value:.{DIGITS}f}".rstrip("0")
    text = text + "0" if text.endswith(".") else text
    return "0.0" if float(text) == 0.0 else text


def _list(values: Sequence[float]) -> str:
    return "[" + ", ".join(map(exact, values)) + "]"


def _commented(line: str, comment: str) -> str:
    return f"{line:<{COMMENT_COLUMN}} # {comment}"


def _body(draft: RobotDraft, notes: FileNotes) -> Iterator[str]:
    body = draft.body
    yield "body:"
    yield _commented(f"  size: {_rounded(body.size)}", f"[m] {body.size_origin.value}{notes.body}")
    yield _commented(f"  center: {_rounded(body.center)}", f"[m] {body.size_origin.value}")
    yield _commented(f"  mass: {body.mass.value:.5g}", f"[kg] {body.mass.comment}")
    yield _commented(f"  center_of_mass: {_rounded(body.center_of_mass)}", f"[m] {body.center_of_mass_origin.value}")
    yield ""
    yield "foot:"
    yield _commented(f"  radius: {draft.radii['foot'].value:.4g}", f"[m] {draft.radii['foot'].comment}")
    yield ""
    x, y, z = body.center
    yield "imu:"
    yield _commented(
        f"  position: {_rounded((x, y, z + IMU_HEIGHT_SHARE * body.size[2]))}", "[m] ASSUMED: where it is mounted"
    )
    yield ""


def _rounded(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value:.4f}" for value in values) + "]"


def _lengths(leg: LegGeometry) -> dict[str, str]:
    """Values that a robot file can share between legs, by dotted key."""
    values = {
        "coxa.length": leg.coxa,
        "femur.length": leg.femur,
        "femur.lateral_offset": leg.lateral,
        "femur.vertical_offset": leg.vertical,
        "tibia.length": leg.tibia,
    }
    found = {key: exact(value) for key, value in values.items()}
    found["coxa.length"] = exact(max(0.0, leg.coxa))
    for part, joint in zip(JOINTS, leg.joints, strict=True):
        found[f"joints.{part}"] = f"{{lower_deg: {joint.lower:.4f}, upper_deg: {joint.upper:.4f}}}"
    return found


def _common(draft: RobotDraft) -> dict[str, str]:
    """The most frequent value of every key."""
    rows = [_lengths(leg) for leg in draft.legs.values()]
    return {key: Counter(row[key] for row in rows).most_common(1)[0][0] for key in rows[0]}


def _leg(draft: RobotDraft, notes: FileNotes) -> Iterator[str]:
    common = _common(draft)
    yield "leg:"
    for part in JOINTS:
        yield f"  {part}:"
        for key in ("length", "lateral_offset", "vertical_offset"):
            if f"{part}.{key}" in common:
                yield _commented(f"    {key}: {common[f'{part}.{key}']}", f"[m] {notes.geometry.value}")
        yield _commented(f"    mass: {draft.masses[part].value:.5g}", f"[kg] {draft.masses[part].comment}")
        yield _commented(f"    radius: {draft.radii[part].value:.4g}", f"[m] {draft.radii[part].comment}")
    yield "  joints:"
    for number, part in enumerate(JOINTS):
        unknown = [leg.joints[number].name for leg in draft.legs.values() if not leg.joints[number].range_known]
        comment = f"{Origin.ASSUMED.value}: {notes.limits}" if unknown else notes.geometry.value
        yield f"    {part}: {common[f'joints.{part}']}  # {comment}"
    yield from _servo(draft.servo, notes)
    yield ""


def _servo(servo: DraftServo, notes: FileNotes) -> Iterator[str]:
    yield "  servo:"
    if servo.voltage is not None:
        yield f"    model: {servo.model}"
        yield _commented(f"    voltage: {servo.voltage:g}", "[V] given: figures from the servo table")
        return
    rows: Mapping[str, tuple[SourcedValue, str]] = {
        "no_load_speed": (servo.speed, "rad/s"),
        "stall_torque": (servo.torque, "N m"),
        "stiffness": (servo.stiffness, "N m/rad"),
    }
    yield _commented(f"    model: {servo.model}", notes.servo)
    for key, (noted, unit) in rows.items():
        yield _commented(f"    {key}: {noted.value:.4g}", f"[{unit}] {noted.comment}")
    yield f"    source: {notes.servo_source}"


def _legs(draft: RobotDraft) -> Iterator[str]:
    common = _common(draft)
    yield "legs:"
    for name, leg in draft.legs.items():
        x, y = draft.stance.footholds[name]
        parts = [f"hip: {_list(leg.hip.tolist())}", f"yaw_deg: {exact(math.degrees(leg.yaw))}"]
        if any(leg.tilt):
            parts.append(f"tilt_deg: {_list([math.degrees(angle) for angle in leg.tilt])}")
        parts.append(f"foothold: [{x:.4f}, {y:.4f}]")
        yield f"  {name}:{_joint_names(leg)}"
        yield f"    {parts[0]}"
        yield from (f"    {part}" for part in parts[1:])
        own = {key: text for key, text in _lengths(leg).items() if text != common[key]}
        for section in dict.fromkeys(key.split(".")[0] for key in own):
            inner = ", ".join(
                f"{key.split('.')[1]}: {text}" for key, text in own.items() if key.split(".")[0] == section
            )
            yield f"    {section}: {{{inner}}}"
    yield ""


def _joint_names(leg: LegGeometry) -> str:
    names = ", ".join(joint.name for joint in leg.joints if joint.name)
    return f"  # joints {names}" if names else ""


def _walk(draft: RobotDraft, note: str) -> Iterator[str]:
    stance = draft.stance
    yield "walk:"
    yield f"  gait: {stance.gait}"
    yield _commented(f"  height: {stance.height:.4f}", f"[m] {note}")
    yield _commented(f"  swing_time: {stance.swing_time:g}", "[s] ASSUMED: the servos are fast enough to lift the feet")
    yield _commented(f"  lift_height: {stance.lift:.4f}", "[m] ASSUMED: a share of femur and tibia")
    yield "  preload: 0.0"


def _confirmed(notes: FileNotes) -> Iterator[str]:
    if notes.confirmed:
        yield "\n# Unusual values that `hexapod check` need not report, each with the reason."
        yield "confirmed:"
        yield from (f"  {key}: {json.dumps(reason)}" for key, reason in notes.confirmed.items())  # JSON is YAML
