"""The robot file and the joint mapping of an imported robot, as commented YAML."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hexapod_control.config.robots.robot_keys import LEAST_COXA_M
from hexapod_control.config.robots.urdf_import.findings import ImportedRobot, NotedValue, Origin
from hexapod_control.config.robots.urdf_import.leg_geometry import LegGeometry, angles_of_rotation
from hexapod_control.core.names import JOINTS, joint_name

DIGITS = 8  # of lengths [m] and angles [deg] that must agree with the URDF
COLUMN = 45  # of the comments
IMU_SHARE = 0.4  # of the body's height, above its centre


def robot_text(robot: ImportedRobot) -> str:
    """The robot file."""
    return "\n".join((*_head(robot), *_body(robot), *_leg(robot), *_legs(robot), *_walk(robot), ""))


def mapping_text(robot: ImportedRobot) -> str:
    """The joint mapping."""
    lines = [
        f"# Joints of {robot.tree.path.name} for the parameter joint_mapping of all nodes: topics carry these names,",
        "# signs and zeros. The angle in the URDF is sign * ours + offset [rad].",
        "joints:",
    ]
    for leg, geometry in robot.legs.items():
        for part, line in zip(JOINTS, geometry.joints, strict=True):
            entry = f"name: {_quoted(line.name)}, sign: {line.sign}, offset: {exact(line.offset)}"
            lines.append(f"  {joint_name(leg, part)}: {{{entry}}}")
    if robot.frozen:
        lines += [
            "# Joints that no leg moves [rad]: published at these angles, ignored in commands. Remove the lines of",
            "# joints that another node publishes.",
        ]
        lines.append("fixed:")
        lines += [f"  {_quoted(name)}: {exact(angle)}" for name, angle in robot.frozen.items()]
    return "\n".join((*lines, ""))


def exact(value: float) -> str:
    """A number with as many digits as the forward kinematics needs."""
    text = f"{value:.{DIGITS}f}".rstrip("0")
    text = text + "0" if text.endswith(".") else text
    return "0.0" if float(text) == 0.0 else text


def transform_command(robot: ImportedRobot) -> str:
    """The command that places the URDF, with its frames below urdf/, in base_link of the robot file."""
    to_root = robot.tree.placements({})[robot.chains.base] @ robot.frame.pose
    pose = np.asarray(np.linalg.inv(to_root), dtype=np.float64)
    values = zip(
        ("x", "y", "z", "roll", "pitch", "yaw"), (*pose[:3, 3], *angles_of_rotation(pose[:3, :3])), strict=True
    )
    options = " ".join(f"--{name} {value:.6f}" for name, value in values)
    ends = f"--frame-id base_link --child-frame-id urdf/{robot.tree.root}"
    return f"ros2 run tf2_ros static_transform_publisher {options} {ends}"


def _quoted(name: str) -> str:
    return name if name.replace("_", "").isalnum() and not name[0].isdigit() else json.dumps(name)  # JSON is YAML


def _list(values: Sequence[float]) -> str:
    return "[" + ", ".join(map(exact, values)) + "]"


def _commented(line: str, comment: str) -> str:
    return f"{line:<{COLUMN}} # {comment}"


def _head(robot: ImportedRobot) -> Iterator[str]:
    yield f"# Imported from {robot.tree.path.name} by hexapod import. Keys and units are explained in phantomx.yaml."
    yield "# read: from the URDF; ASSUMED: the URDF does not say, correct it; given: an option of hexapod import."
    if not robot.frame.same:
        x, y, z = robot.frame.pose[:3, 3]
        yield f"# base_link is not that of the URDF: x is its {robot.frame.forward}, the origin is at"
        yield f"# [{x:.4f}, {y:.4f}, {z:.4f}] m in link {robot.chains.base}. To show the URDF in its place:"
        yield f"#   {transform_command(robot)}"
    yield ""
    yield f"name: {robot.name}"
    yield ""


def _body(robot: ImportedRobot) -> Iterator[str]:
    body = robot.body
    yield "body:"
    yield _commented(
        f"  size: {_rounded(body.size)}", f"[m] {body.size_origin.value}: no larger than the hips are apart"
    )
    yield _commented(f"  center: {_rounded(body.center)}", f"[m] {body.size_origin.value}")
    yield _commented(f"  mass: {body.mass.value:.5g}", f"[kg] {body.mass.comment}")
    yield _commented(f"  center_of_mass: {_rounded(body.center_of_mass)}", f"[m] {body.center_origin.value}")
    yield ""
    yield "foot:"
    yield _commented(f"  radius: {robot.radii['foot'].value:.4g}", f"[m] {robot.radii['foot'].comment}")
    yield ""
    x, y, z = body.center
    yield "imu:"
    yield _commented(
        f"  position: {_rounded((x, y, z + IMU_SHARE * body.size[2]))}", "[m] ASSUMED: where it is mounted"
    )
    yield ""


def _rounded(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value:.4f}" for value in values) + "]"


def _lengths(leg: LegGeometry) -> dict[str, str]:
    """What a robot file may say once for all legs, by dotted key."""
    values = {
        "coxa.length": leg.coxa,
        "femur.length": leg.femur,
        "femur.lateral_offset": leg.lateral,
        "femur.vertical_offset": leg.vertical,
        "tibia.length": leg.tibia,
    }
    found = {key: exact(value) for key, value in values.items()}
    found["coxa.length"] = exact(max(LEAST_COXA_M, leg.coxa))
    for part, line in zip(JOINTS, leg.joints, strict=True):
        found[f"joints.{part}"] = f"{{lower_deg: {line.lower:.4f}, upper_deg: {line.upper:.4f}}}"
    return found


def _common(robot: ImportedRobot) -> dict[str, str]:
    """The most frequent value of every key."""
    rows = [_lengths(leg) for leg in robot.legs.values()]
    return {key: Counter(row[key] for row in rows).most_common(1)[0][0] for key in rows[0]}


def _leg(robot: ImportedRobot) -> Iterator[str]:
    common = _common(robot)
    yield "leg:"
    for part in JOINTS:
        yield f"  {part}:"
        for key in ("length", "lateral_offset", "vertical_offset"):
            if f"{part}.{key}" in common:
                yield _commented(f"    {key}: {common[f'{part}.{key}']}", "[m] read")
        yield _commented(f"    mass: {robot.masses[part].value:.5g}", f"[kg] {robot.masses[part].comment}")
        yield _commented(f"    radius: {robot.radii[part].value:.4g}", f"[m] {robot.radii[part].comment}")
    yield "  joints:"
    for number, part in enumerate(JOINTS):
        unknown = [leg.joints[number].name for leg in robot.legs.values() if not leg.joints[number].range_known]
        comment = f"{Origin.ASSUMED.value}: no limits in the URDF, measure" if unknown else Origin.READ.value
        yield f"    {part}: {common[f'joints.{part}']}  # {comment}"
    yield from _servo(robot)
    yield ""


def _servo(robot: ImportedRobot) -> Iterator[str]:
    servo = robot.servo
    yield "  servo:"
    if servo.voltage is not None:
        yield f"    model: {servo.model}"
        yield _commented(f"    voltage: {servo.voltage:g}", "[V] given: figures from the servo table")
        return
    rows: Mapping[str, tuple[NotedValue, str]] = {
        "no_load_speed": (servo.speed, "rad/s"),
        "stall_torque": (servo.torque, "N m"),
        "stiffness": (servo.stiffness, "N m/rad"),
    }
    yield _commented("    model: unknown", "give --servo MODEL --voltage V: hexapod servos models lists them")
    for key, (noted, unit) in rows.items():
        yield _commented(f"    {key}: {noted.value:.4g}", f"[{unit}] {noted.comment}")
    yield f"    source: velocity and effort of {robot.tree.path.name}"


def _legs(robot: ImportedRobot) -> Iterator[str]:
    common = _common(robot)
    yield "legs:"
    for name, leg in robot.legs.items():
        x, y = robot.stance.footholds[name]
        parts = [f"hip: {_list(leg.hip.tolist())}", f"yaw_deg: {exact(math.degrees(leg.yaw))}"]
        if any(leg.tilt):
            parts.append(f"tilt_deg: {_list([math.degrees(angle) for angle in leg.tilt])}")
        parts.append(f"foothold: [{x:.4f}, {y:.4f}]")
        yield f"  {name}:  # joints {', '.join(line.name for line in leg.joints)}"
        yield f"    {parts[0]}"
        yield from (f"    {part}" for part in parts[1:])
        own = {key: text for key, text in _lengths(leg).items() if text != common[key]}
        for section in dict.fromkeys(key.split(".")[0] for key in own):
            inner = ", ".join(
                f"{key.split('.')[1]}: {text}" for key, text in own.items() if key.split(".")[0] == section
            )
            yield f"    {section}: {{{inner}}}"
    yield ""


def _walk(robot: ImportedRobot) -> Iterator[str]:
    stance = robot.stance
    yield "walk:"
    yield f"  gait: {stance.gait}"
    yield _commented(
        f"  height: {stance.height:.4f}", "[m] chosen with the footholds: there the feet can step farthest"
    )
    yield _commented(f"  swing_time: {stance.swing_time:g}", "[s] ASSUMED: the servos are fast enough to lift the feet")
    yield _commented(f"  lift_height: {stance.lift:.4f}", "[m] ASSUMED: a share of femur and tibia")
    yield "  preload: 0.0"
