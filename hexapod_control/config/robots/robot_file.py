"""Loads robot files: name or path in, validated robot out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from hexapod_control.config import document, schema
from hexapod_control.config.document import DocumentEntry, plain, read
from hexapod_control.config.errors import FileError, RobotFileError
from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.plausibility.check_values import findings, located_errors, one_line
from hexapod_control.config.robots.plausibility.finding import CheckedRobot
from hexapod_control.config.robots.rules.checked_values import CheckedValues
from hexapod_control.config.robots.rules.consistency import check
from hexapod_control.config.robots.rules.foothold_choice import with_footholds
from hexapod_control.config.robots.rules.gait_section import check_gaits, read_gaits
from hexapod_control.config.robots.servo_values import merged
from hexapod_control.config.shipped_files import file_path, shipped_names
from hexapod_control.core.gait.gait_table import MIN_LEGS
from hexapod_control.core.robot import (
    Body,
    GaitRow,
    Joint,
    Leg,
    Robot,
    Segment,
    WalkDefaults,
)

_OPTIONAL = (robot_keys.FOOTHOLD, robot_keys.TILT)  # of the place of a leg
_PLACE = tuple(row.key for row in (*robot_keys.PLACE, *_OPTIONAL))


@dataclass(frozen=True, slots=True)
class RobotFile:
    """A validated robot file."""

    path: Path  # absolute
    robot: Robot
    servo_model: str  # of the first leg
    servo_source: str  # of the servo's figures
    models: tuple[str, ...]  # of the servos of each leg
    servos: object  # section `servos` as plain data for the driver; None if absent
    document: DocumentEntry = field(compare=False, repr=False)  # the whole file, as it was read


def known_robots() -> tuple[str, ...]:
    """Names of the robots that come with the package."""
    return shipped_names("robots")


def resolve(name_or_path: str | Path) -> Path:
    """Absolute path of a robot file. Anything with a slash or ending in .yaml is a path, all else a name."""
    return file_path("robots", name_or_path, RobotFileError)


def load(name_or_path: str | Path) -> RobotFile:
    """Loads a shipped robot by name, or a file by path. Raises RobotFileError."""
    path = resolve(name_or_path)
    return _loaded(read(path))


def from_text(path: Path, text: str) -> RobotFile:
    """Loads a robot from text; `path` is only used in messages. Raises RobotFileError."""
    return _loaded(document.from_text(path, text))


def _loaded(root: DocumentEntry) -> RobotFile:
    _refuse_unknown(root)
    whole = CheckedValues.checked(root, robot_keys.ROBOT)
    common = _section(root, "leg")
    legs = [_leg_values(common, entry) for entry in _section(root, "legs").children.values()]
    names = list(root.children["legs"].children)
    robot_legs = tuple(_leg(name, values) for name, values in zip(names, legs, strict=True))
    robot = _robot(whole, robot_legs, read_gaits(root, robot_legs))
    if chosen := [row for row, values in enumerate(legs) if robot_keys.FOOTHOLD.key not in values.values]:
        robot = with_footholds(robot, chosen)
    models = tuple(values.text("servo.model") for values in legs)
    try:
        check(robot, whole, legs)
        check_gaits(robot, root, whole, legs)
    except RobotFileError as error:
        raise _cause(root, robot, models, error) from None
    servos = plain(root.children["servos"]) if "servos" in root.children else None
    return RobotFile(root.path, robot, models[0], legs[0].text("servo.source"), models, servos, root)


def _cause(root: DocumentEntry, robot: Robot, models: tuple[str, ...], error: RobotFileError) -> FileError:
    """The implausible value that causes an inconsistency, which is often reported at another key."""
    found = located_errors(root, findings(CheckedRobot(robot, models)))
    if not found or found[0].key == error.key:
        return error
    cause = found[0]
    return RobotFileError(cause.path, cause.line, cause.key, cause.text, f"so that {error.key} {error.text}")


def implausible(file: RobotFile) -> tuple[FileError, ...]:
    """Values within bounds but unlikely for a real robot, as errors of the file, the most reliable first."""
    return located_errors(file.document, findings(CheckedRobot(file.robot, file.models)))


def plausibility_warning(file: RobotFile) -> str:
    """The warning about implausible values when a robot is started; empty if there are none."""
    return one_line(implausible(file))


def _refuse_unknown(root: DocumentEntry) -> None:
    top = schema.known_keys(row.key for row in robot_keys.ROBOT)
    leg = schema.known_keys(row.key for row in (*robot_keys.COMMON, robot_keys.SERVO_VOLTAGE))
    others = dict.fromkeys(("legs", "gaits", *robot_keys.OPTIONAL_SECTIONS))
    schema.refuse_unknown(root, {**top, "leg": leg, **others})
    legs = _section(root, "legs")
    for name, entry in legs.children.items():
        schema.refuse_name(entry, name, "leg", "left_front")
        schema.refuse_unknown(entry, {**dict.fromkeys(_PLACE), **leg})
    if len(legs.children) < MIN_LEGS:
        raise legs.error(
            f"has {len(legs.children)} legs", f"must have at least {MIN_LEGS}", "three must stand while one swings"
        )


def _section(root: DocumentEntry, name: str) -> DocumentEntry:
    entry = root.children.get(name)
    if entry is None:
        raise root.error("is missing", "must be a section", "every key is required", below=name)
    return schema.checked_section(entry)


def _leg_values(common: DocumentEntry, own: DocumentEntry) -> CheckedValues:
    """One leg's values: its position, and the common values with its own overrides."""
    present = (row for row in _OPTIONAL if row.key in own.children)
    place = CheckedValues.checked(own, (*robot_keys.PLACE, *present))
    place.entries.setdefault(robot_keys.FOOTHOLD.key, replace(own, key=f"{own.key}.{robot_keys.FOOTHOLD.key}"))
    overrides = {name: child for name, child in own.children.items() if name not in _PLACE}
    leg = merged(common, DocumentEntry(own.path, own.key, own.line, overrides))
    return place.joined(CheckedValues.checked(leg, robot_keys.COMMON))


def _leg(name: str, values: CheckedValues) -> Leg:
    roll, pitch = values.point(robot_keys.TILT.key) if robot_keys.TILT.key in values.values else (0.0, 0.0)
    return Leg(
        name=name,
        hip=values.vector("hip"),
        hip_yaw=math.remainder(math.radians(values.number("yaw_deg")), math.tau),
        coxa=_segment(values, "coxa"),
        femur=_segment(values, "femur"),
        tibia=_segment(values, "tibia"),
        femur_lateral=values.number("femur.lateral_offset"),
        femur_vertical=values.number("femur.vertical_offset"),
        coxa_joint=_joint(values, "coxa"),
        femur_joint=_joint(values, "femur"),
        tibia_joint=_joint(values, "tibia"),
        foothold=values.point("foothold") if "foothold" in values.values else (0.0, 0.0),  # chosen later
        tilt=(math.radians(roll), math.radians(pitch)),
    )


def _segment(values: CheckedValues, name: str) -> Segment:
    length, mass, radius = (values.number(f"{name}.{key}") for key in ("length", "mass", "radius"))
    return Segment(max(robot_keys.MIN_COXA_M, length), mass, radius)


def _joint(values: CheckedValues, name: str) -> Joint:
    lower, upper = (f"joints.{name}.{side}_deg" for side in ("lower", "upper"))
    if values.number(lower) >= values.number(upper):
        entry = values.entries[lower]
        what = f"is {values.number(lower):g}, upper_deg is {values.number(upper):g}"
        raise entry.error(what, "must be below upper_deg", "are the two swapped?")
    if values.number(upper) - values.number(lower) < robot_keys.MIN_RANGE_DEG:
        what = f"is {values.number(lower):g}, upper_deg is {values.number(upper):g}"
        bound = f"must leave the joint at least {robot_keys.MIN_RANGE_DEG:g} deg"
        raise values.entries[lower].error(what, bound, "degrees, not radians?")
    return Joint(
        math.radians(values.number(lower)),
        math.radians(values.number(upper)),
        *(values.number(f"servo.{key}") for key in ("no_load_speed", "stall_torque", "stiffness")),
    )


def _robot(values: CheckedValues, legs: tuple[Leg, ...], gaits: tuple[GaitRow, ...]) -> Robot:
    return Robot(
        name=values.text("name"),
        body=Body(
            size=values.vector("body.size"),
            center=values.vector("body.center"),
            mass=values.number("body.mass"),
            center_of_mass=values.vector("body.center_of_mass"),
        ),
        legs=legs,
        foot_radius=values.number("foot.radius"),
        imu=values.vector("imu.position"),
        walk=WalkDefaults(
            gait=values.text("walk.gait"),
            height=values.number("walk.height"),
            swing_time=values.number("walk.swing_time"),
            lift_height=values.number("walk.lift_height"),
            preload=values.number("walk.preload"),
        ),
        gaits=gaits,
    )
