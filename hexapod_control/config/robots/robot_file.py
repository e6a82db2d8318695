# SPDX-License-Identifier: Apache-2.0
"""Loads robot files: name or path in, validated robot out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

from hexapod_control.config import document, schema
from hexapod_control.config.document import DocumentEntry, join, merge, plain, read
from hexapod_control.config.errors import FileError, RobotFileError
from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.camera_section import read_cameras
from hexapod_control.config.robots.extra_joint_section import SECTION, read_extra_joints
from hexapod_control.config.robots.foothold_choice import with_footholds
from hexapod_control.config.robots.gait_section import check_gaits, read_gaits
from hexapod_control.config.robots.measured_section import with_measured
from hexapod_control.config.robots.plausibility.check_values import findings, located_errors, one_line
from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding
from hexapod_control.config.robots.robot_keys import MAX_ANGLE_DEG, ODOMETRY_SCALE, SERVO_MODEL, SERVO_VOLTAGE
from hexapod_control.config.robots.servo_table import (
    CatalogServo,
    nearest_models,
    permitted,
    usual_voltage,
    version_for,
    versions,
)
from hexapod_control.config.schema import CheckedValues, refuse_unknown
from hexapod_control.config.sentence import Sentence
from hexapod_control.config.shipped_files import file_path, shipped_names
from hexapod_control.core.gait.gait_table import MIN_LEGS
from hexapod_control.core.kinematics.leg_kinematics import UnreachableReason, base_to_hip, leg_inverse
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import (
    Body,
    Camera,
    GaitRow,
    Joint,
    Leg,
    Robot,
    Segment,
    ServoTraits,
    WalkDefaults,
)
from hexapod_control.core.workspace.economical_stance import economical
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, max_radii, nominal_stance

_SAME_HIP_M = 0.001  # hips nearer than this coincide
_ANY_ANGLE_RAD = {"lower": -math.pi, "upper": math.pi}
_OPTIONAL = (robot_keys.FOOTHOLD, robot_keys.TILT)  # of the place of a leg
_SERVO_KEYS = tuple(row.key for row in (*robot_keys.COMMON, robot_keys.SERVO_VOLTAGE) if row.key.startswith("servo."))
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
    confirmed: Mapping[str, str]  # reason why the value of a key is right although it is implausible
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


def _loaded(root: DocumentEntry, *, as_written: bool = True) -> RobotFile:
    """The robot of a file, whose values may be mistakes unless they are not `as_written`."""
    _refuse_unknown(root)
    whole = CheckedValues.checked(root, robot_keys.ROBOT)
    common = _section(root, "leg")
    legs = [_leg_values(common, entry) for entry in _section(root, "legs").children.values()]
    names = list(root.children["legs"].children)
    robot_legs = tuple(_leg(name, values) for name, values in zip(names, legs, strict=True))
    robot = _robot(whole, robot_legs, read_gaits(root, robot_legs), read_cameras(root))
    extra = read_extra_joints(root, robot_legs, robot.cameras, partial(_extra_joint, common))
    robot = replace(robot, extra_joints=extra)
    robot = with_measured(robot, root)
    if chosen := [row for row, values in enumerate(legs) if robot_keys.FOOTHOLD.key not in values.values]:
        robot = with_footholds(robot, chosen)
    models = tuple(values.text("servo.model") for values in legs)
    try:
        _check_together(robot, whole, legs)
        check_gaits(robot, root, whole, legs)
    except RobotFileError as error:
        raise (_cause(root, robot, models, error) if as_written else error) from None
    if robot_keys.ECONOMY.flag(root):
        robot = economical(robot)
    servos = plain(root.children["servos"]) if "servos" in root.children else None
    return RobotFile(root.path, robot, models[0], legs[0].text("servo.source"), models, servos, _confirmed(root), root)


def _confirmed(root: DocumentEntry) -> dict[str, str]:
    """The reasons of the section `confirmed` by the key of the value. Raises RobotFileError."""
    section = root.children.get("confirmed")
    entries = {} if section is None else schema.checked_section(section, "one reason per key").children
    return {key: robot_keys.CONFIRMED.value(entry) for key, entry in entries.items()}


def _cause(root: DocumentEntry, robot: Robot, models: tuple[str, ...], error: RobotFileError) -> FileError:
    """The implausible value that causes an inconsistency, which is often reported at another key."""
    found = located_errors(root, findings(CheckedRobot(robot, models)))
    if not found or found[0].key == error.key:
        return error
    cause = found[0]
    return RobotFileError(
        cause.path, cause.line, cause.key, cause.text, Sentence("file_so_that", key=error.key, text=error.text)
    )


def changed(file: RobotFile, values: Mapping[str, object]) -> RobotFile:
    """The robot with other values at dotted keys, checked as those of a file. Raises RobotFileError."""
    root = file.document
    for key, value in values.items():
        root = _with_value(root, key.split("."), value)
    return _loaded(root, as_written=False)


def _with_value(section: DocumentEntry, names: Sequence[str], value: object) -> DocumentEntry:
    name, *below = names
    absent = replace(section, key=join(section.key, name), value={})
    child = section.children.get(name, absent)
    child = _with_value(child, below, value) if below else replace(child, value=value)
    return _with_child(section, name, child)


def implausible(file: RobotFile, others: Iterable[Finding] = ()) -> tuple[FileError, ...]:
    """Values within bounds but unlikely for a real robot, as errors of the file, the most reliable first.

    `others` are findings about the sections that this module does not read.
    """
    return tuple(error for error in _unlikely(file, others) if error.key not in file.confirmed)


def confirmed(file: RobotFile, others: Iterable[Finding] = ()) -> tuple[FileError, ...]:
    """Such values that the section `confirmed` of the file says are right."""
    return tuple(error for error in _unlikely(file, others) if error.key in file.confirmed)


def _unlikely(file: RobotFile, others: Iterable[Finding]) -> tuple[FileError, ...]:
    legs = file.document.children["legs"].children
    chosen = frozenset(name for name, leg in legs.items() if robot_keys.FOOTHOLD.key not in leg.children)
    own = findings(CheckedRobot(file.robot, file.models, chosen))
    return located_errors(file.document, chain(own, others))


def plausibility_warning(file: RobotFile, others: Iterable[Finding] = ()) -> str:
    """The warning about implausible values when a robot is started; empty if there are none."""
    return one_line(implausible(file, others))


def _refuse_unknown(root: DocumentEntry) -> None:
    top = schema.known_keys(row.key for row in robot_keys.ROBOT)
    leg = schema.known_keys(row.key for row in (*robot_keys.COMMON, robot_keys.SERVO_VOLTAGE))
    others = dict.fromkeys(
        ("legs", "gaits", "cameras", SECTION, "confirmed", robot_keys.ECONOMY.key, *robot_keys.OPTIONAL_SECTIONS)
    )
    schema.refuse_unknown(root, {**top, "leg": leg, **others})
    legs = _section(root, "legs")
    for name, entry in legs.children.items():
        schema.refuse_name(entry, name, "leg", "left_front")
        schema.refuse_unknown(entry, {**dict.fromkeys(_PLACE), **leg})
    if len(legs.children) < MIN_LEGS:
        raise legs.error(
            Sentence("legs_count", count=len(legs.children)),
            Sentence("legs_least", count=MIN_LEGS),
            Sentence("legs_stand"),
        )


def _section(root: DocumentEntry, name: str) -> DocumentEntry:
    entry = root.children.get(name)
    if entry is None:
        raise root.error(Sentence("file_missing"), Sentence("bound_section"), Sentence("file_every_key"), below=name)
    return schema.checked_section(entry)


def _leg_values(common: DocumentEntry, own: DocumentEntry) -> CheckedValues:
    """One leg's values: its position, and the common values with its own overrides."""
    present = (row for row in _OPTIONAL if row.key in own.children)
    place = CheckedValues.checked(own, (*robot_keys.PLACE, *present))
    place.entries.setdefault(robot_keys.FOOTHOLD.key, replace(own, key=f"{own.key}.{robot_keys.FOOTHOLD.key}"))
    overrides = {name: child for name, child in own.children.items() if name not in _PLACE}
    leg = _merged(common, DocumentEntry(own.path, own.key, own.line, overrides))
    servo = leg.children.get("servo")
    supply = (SERVO_VOLTAGE,) if servo is not None and servo.is_section and "voltage" in servo.children else ()
    return place.joined(CheckedValues.checked(leg, (*robot_keys.COMMON, *supply)))


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
        what = Sentence("joint_bounds", lower=values.number(lower), key="upper_deg", upper=values.number(upper))
        raise entry.error(what, Sentence("joint_below_upper"), Sentence("file_swapped"))
    if values.number(upper) - values.number(lower) < robot_keys.MIN_RANGE_DEG:
        what = Sentence("joint_bounds", lower=values.number(lower), key="upper_deg", upper=values.number(upper))
        bound = Sentence("joint_range", least=robot_keys.MIN_RANGE_DEG)
        raise values.entries[lower].error(what, bound, Sentence("file_degrees"))
    return _servo_joint(values, math.radians(values.number(lower)), math.radians(values.number(upper)))


def _servo_joint(values: CheckedValues, lower: float, upper: float) -> Joint:
    """A joint with limits [rad] and the servo of these values."""
    speed, torque, stiffness = (values.number(f"servo.{key}") for key in ("no_load_speed", "stall_torque", "stiffness"))
    return Joint(lower, upper, speed, torque, stiffness, _traits(values))


def _extra_joint(common: DocumentEntry, entry: DocumentEntry, lower: float, upper: float) -> Joint:
    """An extra joint with limits [rad]: its servo is that of the legs unless it has its own."""
    usual, own = (
        replace(section, value={name: child for name, child in section.children.items() if name == "servo"})
        for section in (common, entry)
    )
    if "servo" in own.children:
        schema.refuse_unknown(own, {"servo": schema.known_keys(_SERVO_KEYS)["servo"]})
    merged = _merged(usual, own)
    rows = [row for row in robot_keys.COMMON if row.key in _SERVO_KEYS]
    supply = (SERVO_VOLTAGE,) if "voltage" in merged.children.get("servo", merged).children else ()
    return _servo_joint(CheckedValues.checked(merged, (*rows, *supply)), lower, upper)


def _traits(values: CheckedValues) -> ServoTraits:
    """What the leg's servo has beside the figures of the file; that of an ordinary servo if the model is unlisted."""
    model = values.text(SERVO_MODEL.key)
    rows = versions(model)
    if not rows:
        return ServoTraits()
    voltage = values.number(SERVO_VOLTAGE.key) if SERVO_VOLTAGE.key in values.values else usual_voltage(model)
    return (version_for(model, voltage) or rows[-1]).traits(voltage)


def _robot(
    values: CheckedValues, legs: tuple[Leg, ...], gaits: tuple[GaitRow, ...], cameras: tuple[Camera, ...]
) -> Robot:
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
        cameras=cameras,
    )


def _merged(common: DocumentEntry, own: DocumentEntry) -> DocumentEntry:
    """The section of one leg: the common section with its own overrides, completed by the servo table."""
    if "model" in own.children.get("servo", own).children and "servo" in common.children:
        servo = common.children["servo"]
        inherited = {name: child for name, child in servo.children.items() if name == "voltage"}
        common = _with_child(common, "servo", replace(servo, value=inherited))
    return _completed(merge(common, own))


def _completed(leg: DocumentEntry) -> DocumentEntry:
    """Completes a leg's section by the figures and joint ranges of its servo model. Raises RobotFileError."""
    servo = leg.children.get("servo")
    figures = ("no_load_speed", "stall_torque", "stiffness", "source")
    absent = () if servo is None or not servo.is_section else [key for key in figures if key not in servo.children]
    joints = leg.children.get("joints")
    without_range = [name for name in JOINTS if joints is None or (joints.is_section and name not in joints.children)]
    if servo is None or not (absent or without_range) or "model" not in servo.children:
        return leg
    if not absent and not versions(str(servo.children["model"].value)):
        return leg  # an unlisted servo: a missing range is reported like any other key
    model = _model(servo)
    if without_range:
        leg = _with_ranges(leg, model, without_range)
    if not absent:
        return leg
    voltage = SERVO_VOLTAGE.value(schema.require(leg, SERVO_VOLTAGE))
    assert isinstance(voltage, float)
    speed_and_torque = model.at(voltage)
    known = {
        "no_load_speed": speed_and_torque.no_load_speed,
        "stall_torque": speed_and_torque.stall_torque,
        "stiffness": model.stiffness(voltage),
        "source": model.source,
    }
    line = servo.children["model"].line
    for key in absent:
        servo = _with_child(servo, key, replace(servo, key=join(servo.key, key), line=line, value=known[key]))
    return _with_child(leg, "servo", servo)


def _model(servo: DocumentEntry) -> CatalogServo:
    """The row of the table for the section's model and voltage."""
    entry = servo.children["model"]
    name = str(SERVO_MODEL.value(entry))
    rows = versions(name)
    if not rows:
        near = ", ".join(nearest_models(name))
        bound = Sentence("servo_model_bound")
        raise entry.error(
            Sentence("file_value", value=schema.yaml_text(entry.value)),
            bound,
            Sentence("file_mean", name=near) if near else "",
        )
    voltage = servo.children.get("voltage")
    if voltage is None:
        return rows[0]
    supply = SERVO_VOLTAGE.value(voltage)
    assert isinstance(supply, float)
    fitting = version_for(name, supply)
    if fitting is None:
        bound = Sentence("servo_supply_bound", bounds=permitted(name), model=name)
        raise voltage.error(Sentence("file_value", value=f"{supply:g}"), bound, Sentence("supply_meaning"))
    return fitting


def _with_ranges(leg: DocumentEntry, model: CatalogServo, names: list[str]) -> DocumentEntry:
    """Sets missing joint limits to the range of the servo, centered on the straight leg."""
    line = leg.children["servo"].children["model"].line
    joints = leg.children.get("joints") or replace(leg, key=join(leg.key, "joints"), line=line, value={})
    end = min(MAX_ANGLE_DEG, model.turn / 2.0)
    for name in names:
        joint = replace(joints, key=join(joints.key, name), line=line, value={})
        for key, value in (("lower_deg", -end), ("upper_deg", end)):
            joint = _with_child(joint, key, replace(joint, key=join(joint.key, key), value=value))
        joints = _with_child(joints, name, joint)
    return _with_child(leg, "joints", joints)


def _with_child(section: DocumentEntry, name: str, child: DocumentEntry) -> DocumentEntry:
    """The section with one child replaced or added."""
    return replace(section, value={**section.children, name: child})


def _check_together(robot: Robot, whole: CheckedValues, legs: Sequence[CheckedValues]) -> None:
    """Raises RobotFileError for the first inconsistency; `whole` and `legs` give the key and line of a value."""
    _check_walk(robot, whole)
    _check_hips(robot, legs)
    for leg, values in zip(robot.legs, legs, strict=True):
        _check_tibia(robot, leg, values)
        _check_neutral(robot, leg, values)
    _check_stepping(robot, legs)


def _check_walk(robot: Robot, whole: CheckedValues) -> None:
    walk, body = robot.walk, robot.body
    underside = body.size[2] / 2.0 - body.center[2]
    if walk.height <= underside:
        raise whole.entries["walk.height"].error(
            Sentence("file_value", value=f"{walk.height:g}"),
            Sentence("file_above", least=underside),
            Sentence("walk_underside"),
        )
    if walk.lift_height > walk.height:
        raise whole.entries["walk.lift_height"].error(
            Sentence("file_value", value=f"{walk.lift_height:g}"), Sentence("walk_lift_most", most=walk.height)
        )


def _check_hips(robot: Robot, legs: Sequence[CheckedValues]) -> None:
    for i, leg in enumerate(robot.legs):
        for other in robot.legs[:i]:
            if math.dist(leg.hip, other.hip) < _SAME_HIP_M:
                hip = "[" + ", ".join(f"{c:g}" for c in leg.hip) + "]"
                bound = Sentence("hips_differ", leg=other.name)
                raise legs[i].entries["hip"].error(Sentence("file_value", value=hip), bound, Sentence("hips_apart"))


def _check_tibia(robot: Robot, leg: Leg, values: CheckedValues) -> None:
    shortest = 2.0 * (robot.foot_radius + leg.tibia.radius)
    if leg.tibia.length <= shortest:
        raise values.entries["tibia.length"].error(
            Sentence("file_value", value=f"{leg.tibia.length:g}"),
            Sentence("file_above", least=shortest),
            Sentence("tibia_longer"),
        )


def _check_neutral(robot: Robot, leg: Leg, values: CheckedValues) -> None:
    """Checks that the neutral foothold is reachable, knee up, at walking height."""
    x, y = leg.foothold
    solution = leg_inverse(leg, base_to_hip(leg, robot.neutral_ball(leg)), (0.0, 0.0, 0.0))
    if solution.reason is None:
        return
    where = Sentence("file_pair", first=x, second=y)
    if solution.reason is UnreachableReason.JOINT_LIMIT:
        raise values.entries["foothold"].error(where, *_limit(robot, leg, values))
    bound = Sentence("foothold_reach", leg=leg.name, height=robot.walk.height)
    hint = f"{solution.reason.value} ({solution.excess * 1000.0:.0f} mm)"
    raise values.entries["foothold"].error(where, bound, Sentence("foothold_hint", place=hint))


def _check_stepping(robot: Robot, legs: Sequence[CheckedValues]) -> None:
    """Checks that every foot has a stance region around its neutral foothold."""
    stance = nominal_stance(robot)
    walk = robot.walk
    apart = max_radii(robot)
    for leg, radius, most, values in zip(robot.legs, stance.radii, apart, legs, strict=True):
        if radius >= MIN_RADIUS:
            continue
        x, y = leg.foothold
        where = Sentence("file_pair", first=x, second=y)
        bound = Sentence("foothold_steps", leg=leg.name, step=MIN_RADIUS * 1000.0)
        if most < MIN_RADIUS:
            raise values.entries["foothold"].error(where, bound, Sentence("foothold_apart"))
        lift = Sentence("foothold_heights", lift=walk.lift_height, height=walk.height)
        raise values.entries["foothold"].error(
            where, Sentence("foothold_with_lift", bound=bound, lift=lift), Sentence("foothold_lift")
        )


def _limit(robot: Robot, leg: Leg, values: CheckedValues) -> tuple[Sentence, Sentence]:
    """Bound and hint for a neutral stance outside the joint limits: joint and excess."""
    free = replace(
        leg, **{f"{name}_joint": replace(getattr(leg, f"{name}_joint"), **_ANY_ANGLE_RAD) for name in JOINTS}
    )
    angles = leg_inverse(free, base_to_hip(leg, robot.neutral_ball(leg)), (0.0, 0.0, 0.0)).joints
    for name, angle, joint in zip(JOINTS, angles, leg.joints, strict=True):
        if not joint.lower <= angle <= joint.upper:
            lower, upper = (values.number(f"joints.{name}.{side}_deg") for side in ("lower", "upper"))
            need = Sentence("foothold_angle", joint=name, angle=math.degrees(angle), lower=lower, upper=upper)
            return need, Sentence("foothold_check")
    raise AssertionError("a joint limit was reported but none is exceeded")


def odometry_scale(file: DocumentEntry) -> tuple[float, float]:
    """Factors on (distance, heading change) of the feet; 1 without the section. Raises RobotFileError."""
    section = file.children.get("odometry_scale")
    if section is None:
        return 1.0, 1.0
    refuse_unknown(section, dict.fromkeys(row.key for row in ODOMETRY_SCALE))
    distance, turn = (row.number(section) for row in ODOMETRY_SCALE)
    return distance, turn
