# SPDX-License-Identifier: Apache-2.0
"""Imports a URDF: from the text of a file to the complete robot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.draft.assumptions import assumed_radii
from hexapod_control.config.robots.draft.leg_draft import DraftJoint, LegGeometry
from hexapod_control.config.robots.draft.robot_draft import DraftBody, Origin, SourcedValue, robot_name
from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.draft.rotations import angles_of_rotation
from hexapod_control.config.robots.draft.stance_search import body_with_room, find_stance, lever
from hexapod_control.config.robots.robot_file import RobotFile, from_text, implausible
from hexapod_control.config.robots.robot_keys import COMMON, MAX_ANGLE_DEG
from hexapod_control.config.robots.urdf_import.body_frame import (
    DIRECTIONS,
    NAMED,
    OPTION,
    BodyFrame,
    find_frame,
    in_frame,
    leg_names,
    level_axes,
)
from hexapod_control.config.robots.urdf_import.body_values import BodyReader, ImportOptions, expected_mass, foot_radius
from hexapod_control.config.robots.urdf_import.findings import ImportedRobot, ImportFinding
from hexapod_control.config.robots.urdf_import.foot_tips import FRAME_SOURCE, GIVEN_SOURCE, FootFinder, FootTip
from hexapod_control.config.robots.urdf_import.leg_chains import JointChain, LegChains, find_legs
from hexapod_control.config.robots.urdf_import.reading.urdf_text import read_urdf
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfJoint, UrdfTree, parse_tree
from hexapod_control.config.robots.urdf_import.writing.joint_names import import_notes
from hexapod_control.config.schema import NumberRow
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS
from hexapod_control.core.statics.static_stability import GRAVITY

MIN_DIRECTED_COXA_M = 1e-4  # a shorter coxa has no direction: the leg then points away from the middle of the body
SAME_LIMITS_RAD = 1e-3  # two limits this close are unset
WHOLE_TURN_RAD = math.radians(340.0)  # a larger range means that there is no limit
KEEP_ZERO_RAD = math.radians(30.0)  # of the coxa's mid-range: up to this the URDF's zero is used
UNSET_RANGE_DEG = {"coxa": (-60.0, 60.0), "femur": (-90.0, 120.0), "tibia": (-150.0, 0.0)}  # assumed
# of femur and tibia
MIN_LENGTH_M = 0.002
MAX_LENGTH_M = next(row.quantity.upper for row in COMMON if isinstance(row, NumberRow) and row.key == "femur.length")
USUAL_LENGTH_M = 0.25  # of a leg of a small robot
MAX_ASSUMED_KG = 30.0  # heavier robots differ too much from each other
MAX_LIGHTER = 125.0  # a robot so many times lighter than others of its size is drawn more than five times too large
MAX_ERROR_M = 0.005  # of the forward kinematics: axes that are not parallel or perpendicular cause it
REPORTED_ERROR_M = 1e-6  # larger errors are reported
# Origins of the forward direction and the feet; any other source is an assumption.
ORIGINS = {OPTION: Origin.GIVEN, GIVEN_SOURCE: Origin.GIVEN, NAMED: Origin.READ, FRAME_SOURCE: Origin.READ}
# What to do about a value that a robot file refuses, by words of its key.
REMEDIES = {
    ("mass",): "give --mass KG",
    ("servo", "swing_time"): "give the real servos: --servo MODEL --voltage V",
    ("size", "center", "hip", "length", "offset", "radius", "height"): "if it is drawn too large, give --scale FACTOR",
}
TRIALS = 50  # random joint angles for the comparison


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """A file to import, and the options of the user."""

    path: Path
    frozen: Mapping[str, float] = field(default_factory=dict)  # [rad] by the name of a joint, with * and ?
    arguments: Mapping[str, str] = field(default_factory=dict)  # of a xacro file
    feet: Mapping[str, Sequence[float]] = field(default_factory=dict)  # [m] by last link, with * and ?, in its frame
    scale: float = 1.0  # of all lengths of the URDF
    forward: str | None = None  # axis of the base link
    up: str | None = None
    options: ImportOptions = field(default_factory=ImportOptions)


def import_urdf(request: ImportRequest) -> ImportedRobot:
    """Imports a URDF or xacro file. Raises UrdfError."""
    tree = parse_tree(request.path, read_urdf(request.path, request.arguments), request.scale)
    frozen = _frozen(tree, request.frozen)
    chains = find_legs(tree, frozen, DIRECTIONS[request.up] if request.up else None)
    _refuse_passive(tree, chains)
    _refuse_vertical_forward(tree, chains, request.forward)
    frame = find_frame(chains, request.forward)
    poses = tree.placements(frozen)
    finder = FootFinder(tree, poses, _given_feet(tree, chains, request.feet))
    named = _named_legs(chains, frame)
    tips = {name: finder.tip(chain) for name, chain in named.items()}
    legs = {name: _geometry(frame, poses, chains, chain, tips[name]) for name, chain in named.items()}
    _check_lengths(tree, legs)
    error = _kinematics_error(tree, chains, frame, frozen, legs, tips)
    if error > MAX_ERROR_M:
        cause = "the pitch axes of a leg are not parallel, or not across its yaw axis"
        raise tree.error(f"has legs that differ from yaw, pitch, pitch by {1000.0 * error:.1f} mm", cause)
    reader = BodyReader(tree, chains, frame, poses)
    first = next(iter(legs.values()))
    options = request.options
    masses = reader.segment_masses(first.length, options)
    body = reader.body(list(legs.values()), finder, masses, options)
    total = body.mass.value + len(legs) * sum(value.value for value in masses.values())
    _check_mass(tree, first, body.mass, total, len(legs))
    servo = reader.servo(total * GRAVITY / (len(legs) / 2.0) * lever(first), options)
    radii = assumed_radii(first, foot_radius(first, next(iter(tips.values())).radius, options), masses)
    stance = find_stance(legs, body, masses, radii, servo)
    if stance is None:
        ranges = ", ".join(f"{joint.name} {joint.lower:.0f} to {joint.upper:.0f} deg" for joint in first.joints)
        remedy = f"in the angles of a robot file the limits of one leg are {ranges}: correct them in the URDF"
        raise tree.error(
            "has no stance in which all feet can step within the joint limits and the robot is stable", remedy
        )
    fixed = dict(_fixed_joints(tree, named, frozen))
    name = robot_name(tree.name)
    findings = tuple(_findings(chains, frame, legs, tips, body, finder, error))
    robot = ImportedRobot(name, legs, body, masses, radii, servo, stance, tree, chains, frame, tips, fixed, findings)
    robot = replace(robot, body=body_with_room(robot))
    return replace(robot, unusual=implausible(_accepted(robot)))


def _accepted(robot: ImportedRobot) -> RobotFile:
    """The robot file of an import, as it is read. Raises UrdfError if it is refused."""
    try:
        return from_text(robot.tree.path, robot_text(robot, import_notes(robot)))
    except RobotFileError as error:
        remedy = next((remedy for words, remedy in REMEDIES.items() if any(word in error.key for word in words)), "")
        raise robot.tree.error(f"gives a robot file with {error.key}, which {error.text}", remedy) from None


def _frozen(tree: UrdfTree, wanted: Mapping[str, float]) -> dict[str, float]:
    """Angles [rad] of the joints to freeze, by full name. Raises UrdfError for a pattern that matches none."""
    found: dict[str, float] = {}
    for pattern, angle in wanted.items():
        names = [name for name, joint in tree.joints.items() if joint.turns and fnmatchcase(name, pattern)]
        if not names:
            known = ", ".join(name for name, joint in tree.joints.items() if joint.turns)
            raise tree.error(f"has no revolute joint {pattern!r} to freeze", f"it has {known}")
        found.update(dict.fromkeys(names, angle))
    return found


def _given_feet(tree: UrdfTree, chains: LegChains, wanted: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """The given foot tips by the name of the last link. Raises UrdfError for a pattern that matches none."""
    links = [chain.axes[2].joint.child for chain in chains.legs]
    found: dict[str, Sequence[float]] = {}
    for pattern, tip in wanted.items():
        names = [name for name in links if fnmatchcase(name, pattern)]
        if not names:
            raise tree.error(f"has no leg with the last link {pattern!r}", f"the last links are {', '.join(links)}")
        found.update(dict.fromkeys(names, tip))
    return found


def _refuse_passive(tree: UrdfTree, chains: LegChains) -> None:
    """Refuses mimic and sliding joints between hip and tibia, where they would move the foot."""
    for chain in chains.legs:
        last = chain.links.index(chain.axes[2].joint.child)
        for joint in chain.passive:
            if joint.mimic is not None or chain.links.index(joint.child) < last:
                what = f"follows {joint.mimic}" if joint.mimic else f"is {joint.kind}"
                raise tree.error(f"joint {joint.name} within a leg {what}", "only revolute joints may move a foot")


def _refuse_vertical_forward(tree: UrdfTree, chains: LegChains, forward: str | None) -> None:
    level = level_axes(chains.up)
    if forward and forward not in level:
        what = f"has {forward} of link {chains.base} along the yaw axes of the legs, which --forward cannot be"
        raise tree.error(what, f"must be one of {', '.join(level)}")


def _named_legs(chains: LegChains, frame: BodyFrame) -> dict[str, JointChain]:
    """The legs by name, left ones first, front to rear."""
    points = np.array([in_frame(frame, chain)[1][0] for chain in chains.legs])
    named = dict(zip(leg_names(points[:, :2]), zip(chains.legs, points, strict=True), strict=True))
    order = sorted(named, key=lambda name: (not name.startswith("left"), -named[name][1][0]))
    return {name: named[name][0] for name in order}


def _geometry(
    frame: BodyFrame, poses: Mapping[str, Array], chains: LegChains, chain: JointChain, tip: FootTip
) -> LegGeometry:
    to_body = np.linalg.inv(poses[chains.base] @ frame.pose)
    foot = to_body @ poses[tip.link] @ np.append(tip.point, 1.0)
    hips = np.array([in_frame(frame, each)[0][0] for each in chains.legs])
    return leg_geometry(in_frame(frame, chain), foot[:3], [axis.joint for axis in chain.axes], hips.mean(axis=0))


def _check_lengths(tree: UrdfTree, legs: Mapping[str, LegGeometry]) -> None:
    for leg in legs.values():
        for part, length in (("femur", leg.femur), ("tibia", leg.tibia)):
            joint = leg.joints[1 if part == "femur" else 2].name
            if length > MAX_LENGTH_M:
                text = f"has a {part} of {length:.3g} m behind joint {joint}, at most {MAX_LENGTH_M:g} m are possible"
                raise tree.error(text, f"if it is drawn too large, give {_scale(leg.length / USUAL_LENGTH_M)}")
            if length < MIN_LENGTH_M:
                text = f"has a {part} of {1000.0 * length:.1f} mm behind joint {joint}"
                remedy = "a leg bends in femur and tibia: is the foot elsewhere? give --foot X Y Z"
                raise tree.error(text, remedy)


def _check_mass(tree: UrdfTree, leg: LegGeometry, body: SourcedValue, total: float, legs: int) -> None:
    """Refuses an assumed mass [kg] of a large robot, and a mass of the URDF that only a far smaller one has."""
    expected = expected_mass(leg.length, legs)
    what = f"a robot with legs of {leg.length:.3g} m weighs about {expected:.3g} kg"
    if body.origin is Origin.ASSUMED and total > MAX_ASSUMED_KG:
        remedy = f"give --mass KG, or {_scale(leg.length / USUAL_LENGTH_M)} if it is drawn too large"
        raise tree.error(f"gives no mass, and {what}", remedy)
    if body.origin is Origin.READ and total < expected / MAX_LIGHTER:
        times = (expected / total) ** (1.0 / 3.0)
        remedy = (
            f"give {_scale(times)} if it is drawn {times:.0f} times too large, or --mass KG if the masses are wrong"
        )
        raise tree.error(f"has a mass of {total:.2g} kg, but {what}", remedy)


def _scale(times: float) -> str:
    """The option that makes a robot about so many times smaller, by a power of ten."""
    return f"--scale {10.0 ** -max(1, round(math.log10(times))):g}"


def _kinematics_error(
    tree: UrdfTree,
    chains: LegChains,
    frame: BodyFrame,
    frozen: Mapping[str, float],
    legs: Mapping[str, LegGeometry],
    tips: Mapping[str, FootTip],
) -> float:
    """Largest error [m] of the feet against the URDF, for random joint angles within a quarter turn."""
    random = np.random.default_rng(0)
    worst = 0.0
    for _ in range(TRIALS):
        file_angles = {name: random.uniform(-math.pi / 2.0, math.pi / 2.0, 3).tolist() for name in legs}
        angles = dict(frozen)
        for name, leg in legs.items():
            angles |= {joint.name: joint.urdf_angle(q) for joint, q in zip(leg.joints, file_angles[name], strict=True)}
        poses = tree.placements(angles)
        to_body = np.linalg.inv(poses[chains.base] @ frame.pose)
        for name, leg in legs.items():
            foot = to_body @ poses[tips[name].link] @ np.append(tips[name].point, 1.0)
            worst = max(worst, float(np.abs(foot[:3] - leg.foot(file_angles[name])).max()))
    return worst


def _fixed_joints(
    tree: UrdfTree, legs: Mapping[str, JointChain], frozen: Mapping[str, float]
) -> Iterator[tuple[str, float]]:
    """Joints outside the legs, whose angles RViz needs, each with an angle [rad] within its limits."""
    moved = {name for chain in legs.values() for name in chain.names}
    for name, joint in tree.joints.items():
        if joint.kind in ("revolute", "continuous", "prismatic") and joint.mimic is None and name not in moved:
            low, high = joint.lower or 0.0, joint.upper or 0.0
            inside = min(max(0.0, low), high) if low <= high and joint.kind != "continuous" else 0.0
            yield name, frozen.get(name, inside)


def _findings(
    chains: LegChains,
    frame: BodyFrame,
    legs: Mapping[str, LegGeometry],
    tips: Mapping[str, FootTip],
    body: DraftBody,
    finder: FootFinder,
    error: float,
) -> Iterator[ImportFinding]:
    read, assumed, measure = Origin.READ, Origin.ASSUMED, Origin.MEASURE
    yield ImportFinding(read, f"{len(legs)} legs on link {chains.base}: hips, lengths, offsets, signs and zeros")
    if not chains.up_known:
        yield ImportFinding(assumed, "up is not z of the base link: the yaw axes and the feet say so; --up changes it")
    kind = ORIGINS.get(frame.source, assumed)
    yield ImportFinding(kind, f"forward is {frame.forward} of link {chains.base}, by {frame.source}")
    if frame.moved:
        yield ImportFinding(assumed, "base_link is in the middle of the hips, not at the origin of the URDF's link")
    yield from (ImportFinding(assumed, f"not a leg, at rest: {', '.join(chain.names)}") for chain in chains.others)
    for source in dict.fromkeys(tip.source for tip in tips.values()):
        kind = ORIGINS.get(source, assumed)
        yield ImportFinding(
            kind, f"foot tip: {source}" + ("; measure the tibia, or give --foot X Y Z" if kind is assumed else "")
        )
    yield from _open_limits(legs)
    if body.center_of_mass_origin is assumed:
        yield ImportFinding(
            assumed, "center of mass in the middle of the body: the URDF gives none, or one outside the hips"
        )
    if body.size_origin is assumed:
        yield ImportFinding(assumed, "size of the body: the URDF has no readable shapes of the trunk")
    yield from (ImportFinding(assumed, text) for text in finder.unread_meshes())
    if error > REPORTED_ERROR_M:
        yield ImportFinding(
            read, f"the feet differ from those of the URDF by up to {1000.0 * error:.3f} mm: crooked axes"
        )
    yield ImportFinding(measure, "yaw, signs and zeros on the real robot: move every joint a little before it walks")


def _open_limits(legs: Mapping[str, LegGeometry]) -> Iterator[ImportFinding]:
    unset = [joint.name for leg in legs.values() for joint in leg.joints if not joint.range_known]
    if unset:
        text = f"limits of {len(unset)} joints, which the URDF leaves open ({', '.join(unset[:3])}, ...)"
        yield ImportFinding(Origin.MEASURE, f"{text}: the file has wide ones, measure where brackets and cables end")


def leg_geometry(
    axes: Sequence[tuple[Array, Array]], foot: Array, joints: Sequence[UrdfJoint], middle: Array
) -> LegGeometry:
    """Geometry of the leg with these axes (point [m], direction) and foot [m] in base_link, at zero of the URDF.

    `middle` [m] of the body.
    """
    (hip, coxa_axis), (femur_start, femur_axis), (knee, tibia_axis) = axes
    up = coxa_axis * np.sign(coxa_axis[2])
    ahead = _ahead(up, femur_axis, femur_start - hip, femur_start - middle)
    left = np.cross(up, ahead)

    def in_plane(vector: Array) -> tuple[float, float]:
        x, y = float(vector @ ahead), float(vector @ up)
        return math.hypot(x, y), math.atan2(y, x)

    femur, femur_angle = in_plane(knee - femur_start)
    tibia, tibia_angle = in_plane(foot - knee)
    signs = [int(np.sign(coxa_axis @ up)), int(np.sign(-femur_axis @ left)), int(np.sign(-tibia_axis @ left))]
    zero = _coxa_zero(joints[0], signs[0])
    ours = (zero, femur_angle, tibia_angle - femur_angle)  # at zero of the URDF
    mapped = [_draft_joint(*each) for each in zip(JOINTS, joints, signs, ours, strict=True)]
    c, s = math.cos(zero), math.sin(zero)
    rotation = np.column_stack((c * ahead - s * left, s * ahead + c * left, up))
    roll, pitch, yaw = angles_of_rotation(rotation)
    return LegGeometry(
        hip=hip,
        yaw=yaw,
        tilt=(roll, pitch),
        coxa=float((femur_start - hip) @ ahead),
        lateral=float((foot - hip) @ left),
        vertical=float((femur_start - hip) @ up),
        femur=femur,
        tibia=tibia,
        joints=(mapped[0], mapped[1], mapped[2]),
    )


def _ahead(up: Array, femur_axis: Array, coxa: Array, outwards: Array) -> Array:
    """Direction of a leg at zero of the URDF: perpendicular to the femur axis, along the coxa or outwards."""
    across = femur_axis - (femur_axis @ up) * up
    ahead = np.cross(across / np.linalg.norm(across), up)
    length = float(coxa @ ahead)
    if abs(length) <= MIN_DIRECTED_COXA_M:  # too short to have a direction
        length = float(outwards @ ahead)
    return np.asarray(-ahead if length < 0.0 else ahead)


def _limits(joint: UrdfJoint) -> tuple[float, float] | None:
    """Range [rad] of a joint in the URDF; None if continuous, unset, zero or a whole turn."""
    if joint.kind == "continuous" or joint.lower is None or joint.upper is None:
        return None
    low, high = sorted((joint.lower, joint.upper))
    return (low, high) if SAME_LIMITS_RAD < high - low < WHOLE_TURN_RAD else None


def _coxa_zero(joint: UrdfJoint, sign: int) -> float:
    """Coxa angle [rad] of the robot file at the URDF's zero: 0 unless that is far from mid-range."""
    limits = _limits(joint)
    middle = 0.0 if limits is None else sign * (limits[0] + limits[1]) / 2.0
    return 0.0 if abs(middle) < KEEP_ZERO_RAD else -middle


def _draft_joint(kind: str, joint: UrdfJoint, sign: int, ours: float) -> DraftJoint:
    """The mapping of a joint whose angle in the robot file is `ours` [rad] at the URDF's zero."""
    limits = _limits(joint)
    ends = UNSET_RANGE_DEG[kind]
    if limits is not None:
        low, high = sorted(math.degrees(sign * limit + ours) for limit in limits)
        turns = _whole_turns(kind, low, high)
        ours += math.tau * turns
        ends = max(-MAX_ANGLE_DEG, low + 360.0 * turns), min(MAX_ANGLE_DEG, high + 360.0 * turns)
    else:
        ours = math.remainder(ours, math.tau)
    return DraftJoint(joint.name, sign, -sign * ours, *ends, limits is not None)


def _whole_turns(kind: str, low: float, high: float) -> int:
    """Full turns to add to a range [deg] so that it overlaps most with a leg's: tibia below 0, others around 0."""
    wanted = (-MAX_ANGLE_DEG, 0.0) if kind == "tibia" else (-90.0, 90.0)

    def shared(turns: int) -> float:
        return min(high + 360.0 * turns, wanted[1]) - max(low + 360.0 * turns, wanted[0])

    return max((0, 1, -1, 2, -2), key=shared)
