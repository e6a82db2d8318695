# SPDX-License-Identifier: Apache-2.0
"""The servo of each joint of a robot file (`servos.joints`, `servos.extra_joints`): its raw units to radians.

Joint names are also parsed in free text: "LF coxa +", "left front coxa plus", "coxa of front left +".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.schema import REQUIRED, NumberRow, SchemaLine, refuse_unknown
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS, extra_joint_name, joint_name, quoted
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.robot import Joint, Robot
from hexapod_control.servos.bus.bus_interface import RawScale
from hexapod_control.servos.protocol_registry import ServoProtocol
from hexapod_control.servos.settings.joint_calibration import JointCalibration

SIGNS = {"+": 1, "plus": 1, "-": -1, "minus": -1, "\u2212": -1, "\u2013": -1}  # also the dashes of word processors
SYNONYMS = {"back": "rear", "hind": "rear", "mid": "middle", "center": "middle", "centre": "middle"}
FILLERS = ("of", "the", "leg", "joint", "servo")
_SEPARATORS = r"[\s_.,;:/-]+"


class JointWordsError(ValueError):
    """A text names no joint, several joints or no direction; the message has the remedy."""


def initials(name: str) -> str:
    """The initials of a name's parts: left_front -> lf."""
    return "".join(part[0] for part in name.split("_"))


def joint_row(text: str, legs: Sequence[str]) -> int:
    """The row of the joint that a text names. Raises JointWordsError."""
    words = [word for word in re.split(_SEPARATORS, text.strip().lower()) if word and word not in FILLERS]
    found = set(_matches(words, legs))
    if len(found) == 1:
        return found.pop()
    first = legs[0]
    known = ", ".join(f"{leg} ({initials(leg)})" for leg in legs)
    raise JointWordsError(
        f"{quoted(text)} names {'no joint' if not found else 'more than one joint'}: give leg and joint, such as "
        f'"{initials(first)} {JOINTS[0]}"; legs: {known}; joints: {", ".join(JOINTS)}'
    )


def leg_row(text: str, legs: Sequence[str]) -> int | None:
    """The row of the leg that a text names, None if it names no leg or more than one."""
    words = [word for word in re.split(_SEPARATORS, text.strip().lower()) if word and word not in FILLERS]
    found = _legs(words, legs)
    return found[0] if len(found) == 1 else None


def joint_and_sign(text: str, legs: Sequence[str]) -> tuple[int, int]:
    """Row and direction that a text names. Raises JointWordsError."""
    plain = text.strip().lower()
    sign = next((word for word in SIGNS if plain.endswith(word)), None)
    row = joint_row(plain.removesuffix(sign or "").rstrip(), legs)
    if sign is None:
        raise JointWordsError(f"{quoted(text)} has no direction: add + or - for the one in which it turned first")
    return row, SIGNS[sign]


def _matches(words: Sequence[str], legs: Sequence[str]) -> Iterator[int]:
    """Rows of the joints that words may mean; one of the words is the joint, the others are the leg."""
    for i, word in enumerate(words):
        columns = [k for k, name in enumerate(JOINTS) if name.startswith(word)]
        rows = _legs([*words[:i], *words[i + 1 :]], legs)
        if len(columns) == 1 and len(rows) == 1:
            yield 3 * rows[0] + columns[0]


def _legs(words: Sequence[str], legs: Sequence[str]) -> list[int]:
    """Rows of the legs with this name or these initials, else of those whose parts begin with these words."""
    known = [part for leg in legs for part in leg.split("_")]
    spelled = [SYNONYMS.get(word, word) if word not in known else word for word in words]
    exact = [k for k, leg in enumerate(legs) if "_".join(spelled) in (leg, initials(leg))]
    if exact:
        return exact
    if len(spelled) == 1 and len(spelled[0]) > 1:
        spelled = list(spelled[0]) if len(spelled[0]) == len(legs[0].split("_")) else spelled
    return [k for k, leg in enumerate(legs) if _begin(spelled, leg.split("_"))]


def _begin(words: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether each word begins another one of the parts, in any order, and no part is left."""
    left = list(parts)
    for word in words:
        part = next((part for part in left if part.startswith(word)), None)
        if part is None:
            return False
        left.remove(part)
    return not left


_OF_SERVO = "of the protocol's servo"
_RAW = ("raw units", -1e6, 1e6)
_SCALE = ("raw units per rad", 1.0, 1e6)
_POSITIVE = "positive; direction holds the sign"
SERVO_ID = Quantity("", 0, 253, "id or channel of the servo", hint="every servo needs its own", whole=True)
_ROWS = (
    NumberRow("id", SERVO_ID),
    NumberRow(
        "direction", Quantity("", -1, 1, "sense of rotation, 1 or -1", hint="1, or -1 for the other", whole=True)
    ),
    NumberRow("center", Quantity(*_RAW, "raw position at q_center_deg", f"the middle {_OF_SERVO}")),
    NumberRow("units_per_rad", Quantity(*_SCALE, "scale of the servo", f"that {_OF_SERVO}", _POSITIVE)),
    NumberRow("units_per_rad_neg", Quantity(*_SCALE, "scale below q_center_deg", "units_per_rad", _POSITIVE)),
    NumberRow("q_center_deg", Quantity("deg", -180.0, 180.0, "angle of the joint at center", 0.0)),
    NumberRow("trim_deg", Quantity("deg", -45.0, 45.0, "correction of the angle", 0.0)),
    NumberRow("low", Quantity(*_RAW, "minimum goal", f"the minimum {_OF_SERVO}", whole=True)),
    NumberRow("high", Quantity(*_RAW, "maximum goal", f"the maximum {_OF_SERVO}", whole=True)),
    NumberRow(
        "offset", Quantity(*_RAW, "offset register of the servo when it was calibrated", "not compared", whole=True)
    ),
)
_REQUIRED = ("id", "direction")
EXTRA_JOINTS = "extra_joints"  # section of the servos of extra joints, beside `joints`
_ROOM = 0.98  # of a standard servo's range that the joint may use


def joint_lines() -> Iterator[SchemaLine]:
    """The keys of a joint, for the reference."""
    for row in _ROWS:
        yield row.line("joints.LEG.JOINT.")
    same = "as `servos.joints.LEG.JOINT`"
    yield SchemaLine(f"{EXTRA_JOINTS}.NAME", "text", "", "the keys of a joint", REQUIRED, same, "")


def _each(robot: Robot) -> Iterator[tuple[tuple[str, ...], str, Joint]]:
    """Keys below the section, name and limits of every joint: those of the legs in row order, then the extra ones."""
    for leg in robot.legs:
        for name, joint in zip(JOINTS, leg.joints, strict=True):
            yield ("joints", leg.name, name), joint_name(leg.name, name), joint
    for extra in robot.extra_servos:
        yield (EXTRA_JOINTS, extra.name), extra_joint_name(extra.name), extra.joint


def calibrations(section: DocumentEntry, robot: Robot, kind: ServoProtocol) -> tuple[JointCalibration, ...]:
    """One calibration per joint from the section `servos`: row order, then the extra joints. Raises RobotFileError."""
    if "joints" not in section.children:
        raise section.error(Sentence("file_missing"), Sentence("section_every_leg"), below="joints")
    keys = dict.fromkeys(row.key for row in _ROWS)
    known = {"joints": {leg: dict.fromkeys(JOINTS, keys) for leg in robot.leg_names}}
    extra = {EXTRA_JOINTS: {joint.name: keys for joint in robot.extra_servos}}
    for name, below in (known | extra).items():
        if name in section.children:
            refuse_unknown(section.children[name], below)
    found: list[JointCalibration] = []
    taken: dict[int, DocumentEntry] = {}
    for path, joint, limits in _each(robot):
        child = _entry(section, path)
        calibration = _calibration(child, joint, limits, kind)
        other = taken.setdefault(calibration.id, child)
        if other is not child:
            problem = Sentence("id_taken", id=calibration.id, key=other.key, line=other.line)
            raise child.children["id"].error(problem, Sentence("id_unique"), Sentence("id_command"))
        found.append(calibration)
    return tuple(found)


def _entry(section: DocumentEntry, path: Sequence[str]) -> DocumentEntry:
    """The entry of a joint. Raises for a missing one, at the deepest section that exists."""
    entry = section
    for depth, name in enumerate(path):
        if name not in entry.children:
            last = depth == len(path) - 1
            bound = Sentence("joint_keys") if last else Sentence("leg_keys", names=", ".join(JOINTS))
            if name == EXTRA_JOINTS:
                bound = Sentence("section_every_extra")
            what = "joint" if last or name == EXTRA_JOINTS else "leg"
            raise entry.error(Sentence("file_missing"), bound, Sentence("every_required", what=what), below=name)
        entry = entry.children[name]
    return entry


def _calibration(entry: DocumentEntry, name: str, joint: Joint, kind: ServoProtocol) -> JointCalibration:
    values = {row.key: row.number(entry) for row in _ROWS if row.key in entry.children or row.key in _REQUIRED}
    scale = kind.scale
    identity, direction = int(values["id"]), int(values["direction"])
    if direction == 0:
        raise entry.children["direction"].error(Sentence("file_value", value=0), Sentence("sign_bound"))
    if identity not in kind.ids:
        bounds = Sentence("id_bound", first=kind.ids.start, last=kind.ids.stop - 1)
        raise entry.children["id"].error(Sentence("file_value", value=identity), bounds)
    units = values.get("units_per_rad", scale.per_rad)
    calibration = JointCalibration(
        joint=name,
        id=identity,
        center=values.get("center", float(scale.center)),
        direction=direction,
        units_per_rad=units,
        units_per_rad_neg=values.get("units_per_rad_neg", units),
        q_center=math.radians(values.get("q_center_deg", 0.0)),
        trim=math.radians(values.get("trim_deg", 0.0)),
        low=int(values.get("low", scale.low)),
        high=int(values.get("high", scale.high)),
        lower=joint.lower,
        upper=joint.upper,
        offset=int(values["offset"]) if "offset" in values else None,
    )
    _check_range(entry, calibration, scale)
    return calibration


def _check_range(entry: DocumentEntry, joint: JointCalibration, scale: RawScale) -> None:
    for key, goal in (("low", joint.low), ("high", joint.high)):
        if not scale.low <= goal <= scale.high:
            problem = Sentence("goal_range", goal=goal, low=scale.low, high=scale.high, unit=scale.unit)
            raise entry.error(problem, Sentence("within_range"), below=key)
    if not joint.low < joint.center < joint.high:
        problem = Sentence("center_between", center=joint.center, low=joint.low, high=joint.high)
        raise entry.error(problem, Sentence("pulse_order"), Sentence("pulse_swapped"), below="center")
    for side, angle in (("lower", joint.lower), ("upper", joint.upper)):
        raw = joint.raw(angle)
        if not joint.low - 0.5 <= raw <= joint.high + 0.5:
            problem = Sentence("limit_reach", side=side, angle=math.degrees(angle), raw=raw)
            bound = Sentence("limit_within", low=joint.low, high=joint.high)
            raise entry.error(problem, bound, _remedy(joint, scale, side))


def _remedy(joint: JointCalibration, scale: RawScale, side: str) -> Sentence:
    """The likely cause of a limit out of reach: one value that would fit if it were right, else the limits."""
    units = scale.per_rad
    middle = (joint.lower + joint.upper) / 2.0
    own = joint.angle((joint.low + joint.high) / 2.0) - joint.trim
    aside = middle - (own - joint.q_center)  # q_center with which the range of the joint is the middle of the servo's
    causes = {
        "trim_deg": ("0", replace(joint, trim=0.0)),
        "direction": (f"{-joint.direction}", replace(joint, direction=-joint.direction)),
        "center": (f"{scale.center}", replace(joint, center=float(scale.center))),
        "units_per_rad": (f"{units:.4g}", replace(joint, units_per_rad=units, units_per_rad_neg=units)),
        "q_center_deg": (f"{math.degrees(aside):.3g}", replace(joint, q_center=aside, trim=0.0)),
    }
    for key, (value, other) in causes.items():
        if all(joint.low - 0.5 <= other.raw(angle) <= joint.high + 0.5 for angle in (joint.lower, joint.upper)):
            return Sentence("limit_check", key=key, value=value, side=side)
    return Sentence("limit_narrow", side=side)


def standard_calibrations(robot: Robot, scale: RawScale, ids: range) -> tuple[JointCalibration, ...]:
    """Calibrations of new servos: ids in row order, then the extra joints; each centered in the range of its joint.

    The first id is 1 with more than 32 possible ids, otherwise 0.
    """
    first = max(ids.start, 1) if ids.stop > 32 else ids.start
    found = []
    for row, (_, name, joint) in enumerate(_each(robot)):
        units = min(scale.per_rad, _ROOM * (scale.high - scale.low) / (joint.upper - joint.lower))
        found.append(
            JointCalibration(
                joint=name,
                id=first + row,
                center=float(scale.center),
                direction=1,
                units_per_rad=units,
                units_per_rad_neg=units,
                q_center=(joint.lower + joint.upper) / 2.0,
                trim=0.0,
                low=scale.low,
                high=scale.high,
                lower=joint.lower,
                upper=joint.upper,
            )
        )
    return tuple(found)
