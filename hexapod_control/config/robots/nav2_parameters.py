# SPDX-License-Identifier: Apache-2.0
"""Limits and footprint of a robot, filled into a parameter file and the behaviour trees of Nav2.

Velocity limits are a share of the maxima of the gait; accelerations are measured on the walk controller from rest to
the limit and back. Along two axes at once the robot is slower than along each one; the planner then scales the twist.

The velocity smoother keeps those accelerations. The controller MPPI has wider ones. It draws every velocity of a sample
at random and then limits its change from one step of the model to the next. Where that limit is below the spread of the
noise, samples only creep towards the controls that they vary; their mean forgets these step by step, and the command
stays near zero. The robot's own accelerations, 0.2 m/s^2, give a tenth of that spread in a step of 0.1 s.

The trees are those that Nav2 ships, with time for recoveries. Nav2 gives one 10 s, enough for half a metre per second.
A slow gait is still turning or backing up then, the recovery counts as failed, and the robot gives up where it would
have come free.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from hexapod_control.config.bounded_yaml import UnusableYamlError, parse, parser
from hexapod_control.core.gait.gait_table import Gait, unknown_gait
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.static_stability import convex_hull
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import FLIGHT_REACH_SHARE

SPEED_SHARE = 0.9  # of the maximum speeds; the rest is for corrections along other axes
TICK_S = 0.02  # of the measured walk
MAX_ACCELERATION_TIME_S = 30.0  # for reaching the speed
CORNERS = 8  # of the polygon around one stance region
ROUNDING_M = 0.001  # enlargement of the regions, since coordinates are rounded
CLEARANCE_M = 0.2  # of the inflation beyond the footprint
PATH_STEP_M = 0.025  # between two points of a path: half a cell of the global costmap
MIN_WINDOW_M = 3  # of the local costmap, in whole metres
MAX_DIRECT_M = 0.5  # from the goal, within which it is walked to straight; farther away the path is followed
MAX_OFFSET_POINTS = 20  # Nav2's own offset, for robots with a horizon of more than a metre
NOISE_SHARE = 0.4  # spread of the samples, of the maximum speed, as in Nav2's defaults
SAMPLE_STEPS = 2  # of the model in which a sample may reach the maximum speed: more than the noise within one
# MPPI weighs its samples by differences of their costs. Critics that score metres or radians are made for robots that
# come this far within the horizon; for a slower one the same weights leave all samples nearly equal: it does not start.
NAV2_AHEAD_M = 1.4
NAV2_TURN_RAD = 5.3
METRE_WEIGHTS = {"GoalCritic": 5.0, "PathAlignCritic": 14.0, "PathFollowCritic": 5.0}
RADIAN_WEIGHTS = {"GoalAngleCritic": 3.0, "PathAngleCritic": 2.0}
MIN_SPEED_SHARE = 0.2  # of the maximum speed, at the end of a recovery
BEHAVIORS = "behavior_server.ros__parameters"
LATER = frozenset(  # keys that not every supported release declares
    f"{BEHAVIORS}.{name}.{key}"
    for name in ("backup", "drive_on_heading")
    for key in ("acceleration_limit", "deceleration_limit", "minimum_speed")
)
TREES = {  # by the parameter of bt_navigator, as in the folder behavior_trees of nav2_bt_navigator
    "default_nav_to_pose_bt_xml": "navigate_to_pose_w_replanning_and_recovery.xml",
    "default_nav_through_poses_bt_xml": "navigate_through_poses_w_replanning_and_recovery.xml",
}
NAV2_ALLOWANCE_S = 10.0  # of its recoveries, where a tree does not set one
TIME_FACTOR = 2.0  # of the time at the limits: the legs slip, the speed is lower along several axes, and near the end
START_S = 5.0  # for the first stride, and for settling
TURN = ("Spin", "spin_dist", 1.57)  # node, port and its default, as in Nav2
DRIVES = (  # node, ports of distance and speed and their defaults
    ("BackUp", "backup_dist", 0.15, "backup_speed", 0.025),
    ("DriveOnHeading", "dist_to_travel", 0.15, "speed", 0.025),
)


class Nav2FileError(ValueError):
    """A Nav2 parameter file that cannot be filled in; the message has key and remedy."""


@dataclass(frozen=True, slots=True)
class Nav2Robot:
    """Limits and footprint of a robot for Nav2."""

    velocity: Twist  # [m/s, m/s, rad/s] maximum along each axis, the same both ways
    acceleration: Twist  # [m/s^2, m/s^2, rad/s^2] from rest to that velocity
    deceleration: Twist  # [m/s^2, m/s^2, rad/s^2] back to rest, positive
    footprint: tuple[Point, ...]  # [m] in base_footprint, counter-clockwise
    sees: bool  # the ground, with a depth camera

    @property
    def radius(self) -> float:
        """Distance [m] of the farthest corner of the footprint."""
        return max(math.hypot(*corner) for corner in self.footprint)


def footprint_radius(robot: Robot) -> float:
    """Radius [m] of a disc that contains the robot with its feet. Raises ValueError if it cannot walk."""
    return max(math.hypot(*corner) for corner in footprint(Capabilities.of(robot)))


def describe(robot: Robot, gait: str = "") -> Nav2Robot:
    """Limits and footprint in a gait, "" for that of the file. Raises ValueError if it cannot walk in it."""
    capabilities = Capabilities.of(robot)
    if gait and (refusal := unknown_gait(gait, capabilities.gait_names)):
        raise ValueError(refusal)
    row = capabilities.selection(gait).fastest
    top = Twist(*(_floor(SPEED_SHARE * v) for v in _walk_controller(capabilities, row).maxima()))
    axes = (Twist(top.vx, 0.0, 0.0), Twist(0.0, top.vy, 0.0), Twist(0.0, 0.0, top.wz))
    up, down = zip(*(_rates(_walk_controller(capabilities, row), capabilities, goal) for goal in axes), strict=True)
    return Nav2Robot(top, Twist(*up), Twist(*down), footprint(capabilities), bool(robot.cameras))


def _walk_controller(capabilities: Capabilities, gait: Gait) -> WalkController:
    return WalkController(capabilities, capabilities.neutral_stance.footholds, NEUTRAL, gait)


def _rates(walk: WalkController, capabilities: Capabilities, goal: Twist) -> tuple[float, float]:
    """Mean acceleration [per s] to most of `goal`, a speed along one axis, and deceleration back to rest."""
    row: Sequence[LegJoints] = capabilities.standing_joints
    rates = []
    for wanted in (goal, ZERO):
        walk.drive(wanted)
        now = start = max(map(abs, walk.speed.twist))
        end = max(map(abs, wanted))
        ticks = 0
        while abs(now - end) > (1.0 - SPEED_SHARE) * max(map(abs, goal)) and ticks * TICK_S < MAX_ACCELERATION_TIME_S:
            row = walk.advance(TICK_S, row).joints
            now = max(map(abs, walk.speed.twist))
            ticks += 1
        rates.append(_floor(abs(now - start) / (max(1, ticks) * TICK_S)))
    return rates[0], rates[1]


def _floor(value: float) -> float:
    """Rounds down to three decimals, so that rounding never raises a limit."""
    return math.floor(value * 1000.0) / 1000.0


def footprint(capabilities: Capabilities) -> tuple[Point, ...]:
    """Polygon [m] in base_footprint around stance regions, swing paths, knees and body."""
    robot = capabilities.robot
    stance = capabilities.neutral_stance
    points = []
    for leg, (x, y), region in zip(robot.legs, stance.footholds, stance.radii, strict=True):
        reach = FLIGHT_REACH_SHARE * region + max(robot.foot_radius, leg.tibia.radius) + ROUNDING_M
        points += _enclosing_polygon((x, y), reach)
    for leg, row in zip(robot.legs, capabilities.standing_joints, strict=True):
        x, y, _ = hip_to_base(leg, leg_forward(leg, row)[0])
        points += _enclosing_polygon((x, y), leg.femur.radius + ROUNDING_M)
    (length, width, _), (x, y, _) = robot.body.size, robot.body.center
    points += [(x + a * length / 2, y + b * width / 2) for a in (-1, 1) for b in (-1, 1)]
    return tuple(convex_hull([(round(x, 3), round(y, 3)) for x, y in points]))


def _enclosing_polygon(center: Point, radius: float) -> list[Point]:
    """Corners [m] of a regular polygon that contains the disc."""
    corner = radius / math.cos(math.pi / CORNERS)
    angles = ((k + 0.5) * math.tau / CORNERS for k in range(CORNERS))
    return [(center[0] + corner * math.cos(a), center[1] + corner * math.sin(a)) for a in angles]


def values(robot: Nav2Robot, model_dt: float, time_steps: int) -> dict[str, object]:
    """Values to fill in, by dotted key of the parameter file; the horizon are `time_steps` of `model_dt` [s]."""
    (vx, vy, wz), (ax, ay, az), (bx, by, bz) = robot.velocity, robot.acceleration, robot.deceleration
    ahead = round(vx * model_dt * time_steps, 3)  # [m]
    direct = min(
        ahead, MAX_DIRECT_M
    )  # [m] a longer straight way may lead into an obstacle, and the robot stops before it
    polygon = "[" + ", ".join(f"[{x:g}, {y:g}]" for x, y in robot.footprint) + "]"
    path = {"vx_max": vx, "vx_min": -vx, "vy_max": vy, "wz_max": wz}
    for axis, top in (("x", vx), ("y", vy)):
        limit = round(top / (SAMPLE_STEPS * model_dt), 3)
        path |= {f"a{axis}_max": limit, f"a{axis}_min": -limit}
    path["az_max"] = round(wz / (SAMPLE_STEPS * model_dt), 3)
    path |= {f"{name}_std": round(NOISE_SHARE * top, 4) for name, top in (("vx", vx), ("vy", vy), ("wz", wz))}
    critics = {
        **_weights(METRE_WEIGHTS, NAV2_AHEAD_M / ahead),
        **_weights(RADIAN_WEIGHTS, NAV2_TURN_RAD / (wz * model_dt * time_steps)),
        "GoalCritic.threshold_to_consider": direct,
        "PathAlignCritic.offset_from_furthest": min(MAX_OFFSET_POINTS, max(1, int(ahead / PATH_STEP_M / 2))),
        "PathFollowCritic.threshold_to_consider": direct,
    }
    smoother = {
        "max_velocity": [vx, vy, wz],
        "min_velocity": [-vx, -vy, -wz],
        "max_accel": [ax, ay, az],
        "max_decel": [-bx, -by, -bz],
    }
    drive = {"acceleration_limit": ax, "deceleration_limit": -bx, "minimum_speed": round(MIN_SPEED_SHARE * vx, 3)}
    spin = {
        "max_rotational_vel": wz,
        "min_rotational_vel": round(MIN_SPEED_SHARE * wz, 3),
        "rotational_acc_lim": min(az, bz),
    }
    costmap = {
        "footprint": polygon,
        "inflation_layer.inflation_radius": round(robot.radius + CLEARANCE_M, 2),
    }
    prune = round(1.2 * ahead, 2)
    window = max(MIN_WINDOW_M, math.ceil(2.0 * (robot.radius + CLEARANCE_M + prune)))  # the path ahead fits into it
    return {
        **_prefixed("controller_server.ros__parameters.FollowPath", {**path, "prune_distance": prune}),
        **_prefixed("controller_server.ros__parameters.FollowPath", critics),
        **_prefixed("velocity_smoother.ros__parameters", smoother),
        **_prefixed(BEHAVIORS, spin),
        **_prefixed(f"{BEHAVIORS}.backup", drive),
        **_prefixed(f"{BEHAVIORS}.drive_on_heading", drive),
        **_prefixed(
            "local_costmap.local_costmap.ros__parameters",
            {**costmap, "width": window, "height": window, "terrain_layer.enabled": robot.sees},
        ),
        **_prefixed("global_costmap.global_costmap.ros__parameters", costmap),
    }


def _weights(weights: Mapping[str, float], factor: float) -> dict[str, float]:
    return {f"{name}.cost_weight": round(weight * factor, 2) for name, weight in weights.items()}


def _prefixed(prefix: str, entries: Mapping[str, object]) -> dict[str, object]:
    return {f"{prefix}.{name}": value for name, value in entries.items()}


def fill(
    text: str, robot: Nav2Robot, renamed: Mapping[str, str] | None = None, added: Mapping[str, object] | None = None
) -> str:
    """Fills the values of the robot into a Nav2 parameter file; all else is preserved. Raises Nav2FileError.

    `renamed` and `added` are the changes of a Nav2 release to the keys; a key with an empty new name is removed.
    """
    renamed = renamed or {}
    yaml = parser()
    yaml.width = 108
    yaml.indent(mapping=2, sequence=4, offset=2)
    try:
        document = parse(text, yaml)
    except UnusableYamlError as error:
        raise Nav2FileError(f"line {error.line or 1} {error}") from error
    _adapt_keys(document, renamed, added or {})
    model_dt, time_steps = (_number(document, f"FollowPath.{name}") for name in ("model_dt", "time_steps"))
    for name, value in values(robot, model_dt, round(time_steps)).items():
        if name in LATER and name not in (added or {}):
            continue
        section, key = _place(document, renamed.get(name, name))
        if isinstance(value, list) and isinstance(section[key], list) and len(section[key]) == len(value):
            section[key][:] = value
        else:
            section[key] = DoubleQuotedScalarString(value) if isinstance(value, str) else value
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def _number(document: object, name: str) -> float:
    section, key = _place(document, f"controller_server.ros__parameters.{name}")
    if not isinstance(section[key], int | float):
        raise Nav2FileError(f"{name}: must be a number, is {section[key]!r}")
    return float(section[key])


def _adapt_keys(document: object, renamed: Mapping[str, str], added: Mapping[str, object]) -> None:
    """Adds, moves and removes keys; keys that already exist under their new name are unchanged."""
    for name, value in tuple(added.items())[::-1]:  # each is inserted before its successor
        section, key = _new_place(document, name)
        if key not in section:
            section.insert(min(1, len(section)), key, value)
    for old, new in renamed.items():
        try:
            section, key = _place(document, old)
        except Nav2FileError:
            continue
        value = section.pop(key)
        comment = section.ca.items.pop(key, None)
        if new:
            target, key = _new_place(document, new)
            target.setdefault(key, value)
            if comment:
                target.ca.items.setdefault(key, comment)


def _new_place(document: object, name: str) -> tuple[CommentedMap, str]:
    """The section of a dotted key, created where it is missing, and the last part of the key."""
    *sections, key = name.split(".")
    found = document
    for section in sections:
        if isinstance(found, CommentedMap) and section not in found:
            found.insert(min(1, len(found)), section, CommentedMap())
        if not isinstance(found, CommentedMap) or not isinstance(found[section], CommentedMap):
            raise Nav2FileError(f"{name}: has no place in this file; start from a copy of config/nav2.yaml")
        found = found[section]
    assert isinstance(found, CommentedMap)
    return found, key


def _place(document: object, name: str) -> tuple[CommentedMap, str]:
    """The section of a dotted key, and the last part of the key."""
    *sections, key = name.split(".")
    found = document
    for section in (*sections, key):
        if not isinstance(found, CommentedMap) or section not in found:
            raise Nav2FileError(f"{name}: is missing; start from a copy of config/nav2.yaml")
        parent = found
        found = found[section]
    return parent, key


class TreeError(ValueError):
    """A behaviour tree that cannot be read."""


def turning_time(robot: Nav2Robot, angle: float) -> float:
    """Time [s] that the behaviour `spin` may take for a turn [rad]."""
    rate = robot.velocity.wz
    up = robot.acceleration.wz
    down = robot.deceleration.wz
    return _allowance(abs(angle) / rate + rate / up + rate / down)


def driving_time(robot: Nav2Robot, distance: float, speed: float) -> float:
    """Time [s] that the behaviours `backup` and `drive_on_heading` may take for a distance [m] at a speed [m/s]."""
    speed = min(abs(speed), robot.velocity.vx)
    return _allowance(abs(distance) / speed + speed / robot.acceleration.vx + speed / robot.deceleration.vx)


def _allowance(nominal: float) -> float:
    return max(NAV2_ALLOWANCE_S, round(TIME_FACTOR * nominal + START_S, 1))


def fill_tree(text: str, robot: Nav2Robot) -> str:
    """Returns a tree in which the recoveries have the robot's time and speed. Raises TreeError.

    A distance or speed that is read from the blackboard ({name}) stays; its recovery gets the time for the default.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise TreeError(f"is not XML: {error}") from None
    for node in root.iter():
        if node.tag == TURN[0]:
            node.set("time_allowance", f"{turning_time(robot, _port_number(node, *TURN[1:])):g}")
        for tag, distance, dist, speed, rate in DRIVES:
            if node.tag == tag:
                wanted = _port_number(node, speed, rate)
                if not node.get(speed, "").startswith("{"):
                    node.set(speed, f"{min(wanted, robot.velocity.vx):g}")
                time = driving_time(robot, _port_number(node, distance, dist), wanted)
                node.set("time_allowance", f"{time:g}")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _port_number(node: ElementTree.Element, port: str, default: float) -> float:
    """The number in a port; the default if the port is not set or reads the blackboard."""
    try:
        return float(node.get(port, default))
    except ValueError:
        return default
