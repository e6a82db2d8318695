# SPDX-License-Identifier: Apache-2.0
"""Generates the tables of docs/{reference,robot-file,your-servos,gallery}.md from the code: `python docs/tables.py`.

A table stands between the lines `<!-- NAME -->` and `<!-- end -->`; test/package/test_docs.py compares them with the
code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

sys.path.insert(0, str(Path(__file__).parent))

from command_table import transitions

from hexapod_control.bringup import node_graph
from hexapod_control.cli import main
from hexapod_control.config import schema
from hexapod_control.config.motion_file import BEATS_DOCUMENTATION, FOR_HEIGHT_DOCUMENTATION, keys
from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.config.robots.servo_table import servo_table
from hexapod_control.core.motions.motion_steps import KINDS, Choreography
from hexapod_control.core.names import STANDARD
from hexapod_control.nodes.web.web import WebNode
from hexapod_control.ros import parameters
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.service_introspection import IntrospectionSettings
from hexapod_control.servos.settings import io_section, servo_section

REFERENCE = Path(__file__).with_name("reference.md")
LAUNCH_FILES = Path(__file__).parents[1] / "launch"
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {  # parameters with which a node has all of its topics
    "gait_planner": (
        {
            "publish_limited_velocity": True,
            "enable_stamped_cmd_vel": False,
            "adaptive_touch_down": True,
            "imu_levelling": True,
        },
    ),
    "odometry": ({"mode": "legs_imu"}, {"mode": "commanded"}),
    "mujoco_sim": ({"publish_clock": True},),
    "web": ({"port": 0},),
}
WITHOUT_DEVICES: Mapping[str, Mapping[str, Any]] = {  # replacements for hardware
    "gamepad": {"find": tuple},
    "imu_driver": {"sensors": io_section.IoSettings(imu=io_section.ImuSection("mpu6050", 0x68, (0.0, 0.0, 0.0)))},
}
TOPICS: Mapping[str, str] = {  # in the order of the table
    "cmd_vel": "velocity of the body: `linear.x`, `linear.y`, `angular.z`, m/s and rad/s; `TwistStamped` with "
    "`enable_stamped_cmd_vel`",
    "body_pose": "pose of the body relative to the neutral stance",
    "gait": "gait to change to, by name, or `auto`",
    "lose_leg": "name of a leg to fold away, to walk on the others",
    "pause": "why the robot has to stand still, once a second; empty: no longer",
    "return_leg": "name of a lost leg to walk on again",
    "arc": "travel of the outermost foot per stance, m (`x`), and curvature (`y`): 0 straight ahead, 1.999 on the spot,"
    " + to the right",
    "policy_targets": "joint targets of a learned [policy](learning.md#on-the-robot), followed within all limits; "
    "`frame_id` names the run",
    "motion": "motion to play: a name from `motions`, or the content of a file as "
    '`{"file": NAME, "text": CONTENT}`; empty: the present one ends after its cycle',
    "foot_command": "goals of single feet, `<leg>_foot`, in `base_link`; empty: the feet come down",
    "foot_targets": "center of the foot ball in `base_link`, `<leg>_foot`, its velocity, and its planned load "
    "(`wrench.force.z`), 0 in swing",
    "joint_motion": "targets of all joints in place of `foot_targets`, as in standing up",
    "joint_targets": "targets of the servos, with the stamp of the message they follow from",
    "extra_joint_targets": "targets of any [extra joints](robot-file.md#extra_joints); `velocity`, if given, is the "
    "most on the way",
    "joint_states": "measured joint angles",
    "foot_states": "measured foot positions, `wrench.force.z` is the contact force",
    "imu/data": "in `imu_link`",
    "scan": "ranges of the simulated lidar, in `lidar_link`",
    "lidar/points": "cloud of the simulated 3D lidar, rings as rows, in `lidar_link`",
    "camera/depth/image_rect_raw": "depth image of a simulated camera, named in the robot file, 32FC1 in m, in "
    "`camera_depth_optical_frame`",
    "camera/depth/camera_info": "its focal lengths, with the same stamps",
    "joy": "a gamepad: axes and buttons in the order of `game_controller_node`",
    "odom": "`base_footprint` in `odom`, with covariances",
    "/tf": "`odom` → `base_footprint` → `base_link`; links of the legs: `link_frames`, or robot_state_publisher",
    "/tf_static": "latched: `base_link` → `imu_link`; `lidar_link` and the cameras of the simulation; fixed links",
    "robot_description": "latched: the URDF of the robot",
    "gait_state": "latched: unknown, sitting, rising, standing, walking, moving, sinking, fallen, carried, fault",
    "gait_active": "latched: name of the present gait",
    "gait_selected": "latched: name of the selected gait, or `auto`",
    "gaits": "latched: what may be selected, separated by commas: all gaits and `auto`",
    "lost_legs": "latched: names of the lost legs, separated by commas",
    "leg_refused": "why the last `lose_leg` or `return_leg` was refused",
    "motions": "latched: names of the motions that come with the package, separated by commas",
    "motion_state": "latched: name, phase and percent of the present motion: `rehearse`, the steps, finally "
    "`done`, `cancelled`, or `refused` with the reason",
    "velocity_limits": "latched: present maximum speed along each axis; zero unless the robot is on its feet",
    "body_pose_achieved": "latched: pose of the body after clamping",
    "stability_margin": "distance of the center of mass from the edge of the support polygon, m",
    "terrain": "latched: ground of the simulated world, in the frame `world`",
    "foot_markers": "feet, support polygon and neutral footholds for RViz",
    "cmd_vel_out": "executed velocity, with `publish_limited_velocity`; of the type of `cmd_vel`",
    "simulator/floating_base_state": "ground truth: `base_link` in `world`",
    "simulator/collisions": "latched: number of collisions with walls and obstacles",
    "driving": "name of a command source while it is in use",
    "assistant_request": "motion for which an assistant asks a person, as JSON: `id`, `motion`, `values`",
    "assistant_answer": "what a person has answered: the `id` of the request, then `yes` or `no`",
    "command_source": "latched: name of the source whose `cmd_vel` is followed",
    "stopped_by": "latched: after a call of `stop` the nodes that may have made it, separated by commas, `?` if "
    "unknown; empty once velocities are followed again",
    "armed": "latched: whether the servos have torque",
    "speed_share": "latched: share of its speed that hot servos leave the robot, 0 to 1",
    "servo_driver/calibration/prompt": "latched: the open question of the "
    "[calibration](servos.md#from-another-front-end), as JSON",
    "servo_driver/calibration/answer": "answer to it, as typed in the terminal",
    "battery_state": "voltage, if the servos report it",
    "mujoco_sim/push": "a force on the simulated body, N",
    "terrain_map": "heights of the ground in `odom`: [terrain map](terrain-map.md)",
    "traversability": "latched: where the robot can walk by steps and slopes, for a static layer of Nav2",
    "goal_pose": "a goal from the page for Nav2, in `odom`",
    "navigate_to_pose/_action/status": "how the goals of Nav2 stand",
    "/clock": "simulated time, with `publish_clock`",
    "position_controller/commands": "positions of all joints for the controller of [Gazebo](gazebo.md), legs before "
    "extra joints",
    **{
        f"{leg}_foot/wrench": "force of a foot on its tibia, in the frame of the foot, from [Gazebo](gazebo.md)"
        for leg in STANDARD
    },
    "/diagnostics": "once a second: state, rates, the last refusals",
}
SERVICES: Mapping[str, str] = {
    "stand": "stand up, from any pose of the joints; refused while the pose is unknown",
    "sit": "come to rest, feet to neutral, belly down",
    "recover": "after a fall: fold the legs and stand up; after a lift: go on, once the feet bear load",
    "stop": "body to rest, feet straight down, where they stay until a zero `cmd_vel`",
    "cancel_motion": "end the present motion now: the body comes to rest, feet in the air go down",
    "reload_gaits": "offer the gaits that the robot file has now, once the robot is at rest",
    "pack": "play the motion that sits down and folds the legs for transport",
    "unpack": "play the motion that unfolds the legs and stands up",
    "estop": "true cuts the torque and latches; false releases the button",
    "reset_fault": "clears the latch of `estop`",
    "arm": "torque on at the present joint angles",
    "disarm": "torque off, without a latch",
    "servo_driver/calibration/start": "begin the guided calibration; refused while the servos hold",
    "servo_driver/calibration/identify": "begin the [identification](straight.md#the-robot-measures-its-servos) of the "
    "servos, on a stand; refused while the servos hold",
    "servo_driver/calibration/accept": "confirm, or take the default answer: Enter in the terminal",
    "servo_driver/calibration/back": "return to the previous question",
    "servo_driver/calibration/save": "write the robot file, once all steps are complete",
    "servo_driver/calibration/cancel": "torque off, the file stays unchanged",
    "odometry/reset_odometry": "move the origin of `odom` to the robot",
    "mujoco_sim/set_pause": "true pauses the simulation, false continues it",
    "mujoco_sim/step_simulation": "one period of a paused simulation",
    "mujoco_sim/reset_world": "the robot is put at the origin, level, with its joint angles",
}
EXTRA_JOINTS = """\
Optional: joints beside the legs, each under a name of its own, such as those of a camera head or a gripper: servos on
the bus of the legs, which move a box each. Joint and link are `NAME_joint` and `NAME_link`, in URDF, frames, simulation
and `joint_states`.

```yaml
extra_joints:
  pan:
    position: [0.09, 0, 0.03]
    axis: [0, 0, 1]
    lower_deg: -90
    upper_deg: 90
    size: [0.03, 0.03, 0.02]
    mass: 0.03
  tilt:
    parent: pan
    position: [0, 0, 0.03]
    axis: [0, 1, 0]
    lower_deg: -30
    upper_deg: 60
    size: [0.02, 0.04, 0.03]
    mass: 0.04
servos:
  extra_joints:     # beside protocol, port and joints; without a section servos their ids follow those of the legs
    pan: {id: 19, direction: 1, center: 2048}
    tilt: {id: 20, direction: -1, center: 2048}
```

A joint turns, or slides if its `type` is prismatic; with `mimic` it has no servo of its own and moves with another,
`multiplier` times as far. Two fingers on the racks of one pinion with a diameter of 16 mm:

```yaml
  left_finger:
    type: prismatic
    position: [0.13, 0.01, 0]
    axis: [0, 1, 0]
    lower: 0
    upper: 0.02
    travel_per_turn: 0.05        # pi * 16 mm
    size: [0.03, 0.005, 0.02]
    mass: 0.01
  right_finger:
    type: prismatic
    mimic: left_finger
    multiplier: -1
    position: [0.13, -0.01, 0]
    axis: [0, 1, 0]
    size: [0.03, 0.005, 0.02]
    mass: 0.01
```

The topic `extra_joint_targets` moves any of them that has a servo, in radians or metres, also while the robot walks:

```bash
ros2 topic pub --once extra_joint_targets sensor_msgs/msg/JointState \\
  "{name: [pan_joint], position: [0.5], velocity: [1.0]}"
```

They accelerate to at most 70 % of the servo's no-load speed and hold their last target. Torque, `arm`, E-STOP, battery
and temperature are those of all servos: a hot one lets the robot sit. One that is lost, overloaded or changed is
reported and stops nothing. Stability counts their mass where it is at rest; planned steps do not avoid what they move.
A controller of ros2_control may send the targets: [extra joints](ros2-control.md#extra-joints)."""
SECTIONS: Mapping[str, str] = {  # of a robot file, in the words above its keys
    "body": "The trunk, a box: collisions, inertia and the picture are made from it.",
    "walk": "Default settings of the walk. The gaits: [How it walks](how-it-walks.md#3-a-gait-is-a-row-of-a-table).",
    "leg": "What all legs have in common. A servo of [the table](your-servos.md) needs only `model` and `voltage`;\n"
    "without `joints` its legs turn as far as the servo.",
    "legs": "One entry per leg, at least four. Rows of arrays and messages follow their order. All keys of `leg` may\n"
    "be repeated here.",
    "gaits": "Optional: gaits in addition to those derived from the hip positions ([Your own gait](your-own-gait.md)).",
    "cameras": "Optional: depth cameras, each under a name of its own ([Let it see](cameras.md)).",
    "extra_joints": EXTRA_JOINTS,
    "confirmed": "Optional: values that are right although [`hexapod check`](check.md#implausible-values) finds them "
    "implausible.",
    "odometry_scale": "Optional: written by `hexapod odom-calibrate` "
    "([Odometry of your robot](many-robots.md#odometry-of-your-robot)).",
    "measured": "Optional: written by `hexapod identify` ([Does it walk straight?](straight.md)). Each value is\n"
    "followed by its standard deviation; what could not be measured is missing.",
    "servos": "Optional, written by `hexapod calibrate` ([Servos](servos.md#the-section-servos)). Without it the\n"
    "driver emulates the servos (loopback). Options have the defaults of the protocol.",
    "io": "Optional: sensors on I2C and GPIO ([Kits](kits.md)). Of each sensor only `chip` is required,\n"
    "of foot switches also `pins`.",
}
OF_ROS = ("/rosout", "/parameter_events", "/parameter_events_descriptors")  # of every node
GLOBAL = ("/clock", "/tf", "/tf_static", "/diagnostics")
OF_EVERY_NODE = ("/clock", "/parameter_events", "/rosout", "robot_nodes")  # topics in the policy of SROS2
# topics that a robot has with a parameter only, or beside Nav2
SOMETIMES = ("image_raw/compressed", "camera_info", "*/_service_event", "speed_limit")
ACTIONS = ("change_posture", "guide_feet", "play_motion")
OWN_SERVICES = tuple(
    f"*/{name}"
    for name in (
        *("describe_parameters", "get_parameter_types", "get_parameters", "list_parameters", "set_parameters"),
        *("set_parameters_atomically", "get_type_description"),
    )
)
MISSING = "not described in docs/tables.py"
LIVE = SCALED = " \\*"  # behind a parameter that may change while its node runs, behind a value that follows the size
OF_PROTOCOL = "that of the protocol"  # the default of an option, said once above them
CONTROL_NUMBERS = "[-1, 63]"
BY_DISTRIBUTION = "false; true from ROS 2 Kilted on"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = tuple(head)
    first, *others = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in (head, *rows))
    return "\n".join((first, "|" + "---|" * len(head), *others))


class Interface(NamedTuple):
    """A topic or a service as the nodes create it."""

    types: set[str]
    sources: list[str]  # nodes that publish it, or offer the service
    readers: list[str]  # nodes that subscribe to it, or call the service
    latched: set[bool]
    published: set[str]  # QoS profiles as texts
    subscribed: set[str]


def _kind(kind: Any) -> str:
    """Package and name of a type, as in tf2_msgs/TFMessage, whose class lives in this package."""
    return "tf2_msgs/TFMessage" if kind is TFMessage else f"{kind.__module__.split('.')[0]}/{kind.__name__}"


@cache
def modules() -> Mapping[str, Any]:
    """The modules of all nodes of the graphs, by the node's name."""
    rows = [row for graph_rows in node_graph.GRAPHS.values() for row in graph_rows if row.package == node_graph.PACKAGE]
    return {
        row.executable: import_module(f"{node_graph.PACKAGE}.nodes.{row.executable}.{row.executable}") for row in rows
    }


def nodes() -> Iterator[Any]:
    """Every node, made in this process; rclpy must be up."""
    for name, module in modules().items():
        kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, GuardedNode)]
        (kind,) = (kind for kind in kinds if kind.__module__ == module.__name__)
        for values in VARIANTS.get(name, ({},)):
            overrides = [Parameter(key, value=value) for key, value in values.items()]
            node = kind(parameter_overrides=overrides, **WITHOUT_DEVICES.get(name, {}))
            if isinstance(node, WebNode):
                node.feed.watch(wanted=True)
            yield node
            node.destroy_node()


@cache
def interfaces() -> tuple[Mapping[str, Interface], Mapping[str, Interface]]:
    """Topics and services of all nodes, by name."""
    topics: dict[str, Interface] = {}
    services: dict[str, Interface] = {}
    context_was_up = rclpy.ok()
    if not context_was_up:
        rclpy.init(args=[])

    def at(table: dict[str, Interface], full: str, kind: Any) -> Interface:
        name = full if full in GLOBAL else full.removeprefix("/")
        found = table.setdefault(name, Interface(set(), [], [], set(), set(), set()))
        found.types.add(_kind(kind))
        return found

    try:
        for node in nodes():
            name = node.get_name()
            for publisher in node.publishers:
                if publisher.topic_name not in OF_ROS:
                    found = at(topics, publisher.topic_name, publisher.msg_type)
                    found.sources.append(name)
                    found.latched.add(publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL)
                    found.published.add(_profile(publisher.qos_profile))
            for subscription in node.all_subscriptions:
                if subscription.topic_name not in OF_ROS:
                    found = at(topics, subscription.topic_name, subscription.msg_type)
                    found.readers.append(name)
                    found.subscribed.add(_profile(subscription.qos_profile))
            for service in (*node.services, *node.threads.urgent_services):
                if not service.srv_type.__module__.startswith(("rcl_interfaces", "type_description")):
                    at(services, node.resolve_service_name(service.srv_name), service.srv_type).sources.append(name)
            for client in node.clients:
                at(services, node.resolve_service_name(client.srv_name), client.srv_type).readers.append(name)
    finally:
        if not context_was_up:
            rclpy.try_shutdown()
    return topics, services


def _profile(profile: QoSProfile) -> str:
    """Reliability and durability of a QoS profile, on which it depends who receives whom."""
    reliable = "reliable" if profile.reliability == ReliabilityPolicy.RELIABLE else "best effort"
    durable = "transient local" if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL else "volatile"
    return f"{reliable}, {durable}"


def _in_order(found: Mapping[str, Interface], descriptions: Mapping[str, str]) -> list[tuple[str, Interface, str]]:
    """Name, interface and description; those of which each leg has one have one row."""
    names = (*(name for name in descriptions if name in found), *sorted(found.keys() - descriptions.keys()))
    rows = {re.sub(r"^\w+_foot/", "LEG_foot/", name): (found[name], descriptions.get(name, MISSING)) for name in names}
    return [(name, *row) for name, row in rows.items()]


def _names(nodes: Sequence[str]) -> str:
    found = dict.fromkeys(nodes)
    return "every node" if found.keys() == modules().keys() else ", ".join(found) or "you"


def topics() -> str:
    """All topics."""
    rows = [
        (f"`{name}`", f"`{' or '.join(sorted(item.types))}`", _names(item.sources), _names(item.readers), what)
        for name, item, what in _in_order(interfaces()[0], TOPICS)
    ]
    return table(("topic", "type", "from", "to", "what it is"), rows)


def qos() -> str:
    """The QoS profiles with which the nodes publish and subscribe, each pair with its topics."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, item, _ in _in_order(interfaces()[0], TOPICS):
        published, subscribed = (" or ".join(sorted(profiles)) for profiles in (item.published, item.subscribed))
        found.setdefault((published, subscribed), []).append(f"`{name}`")
    rows = ((published, subscribed, ", ".join(names)) for (published, subscribed), names in found.items())
    return table(("published", "subscribed", "topics"), rows)


def services() -> str:
    """All services."""
    rows = [
        (f"`{name}`", f"`{' or '.join(sorted(item.types))}`", _names(item.sources), what)
        for name, item, what in _in_order(interfaces()[1], SERVICES)
        if item.sources
    ]
    return table(("service", "type", "node", "what it does"), rows)


def policy() -> str:
    """The enclaves of config/sros2_policy.xml: what the nodes of a robot use together, and what an operator may do."""
    topics, services = interfaces()
    commands = [name for name, item in topics.items() if not item.sources or {"teleop", "web"} & {*item.sources}]
    robot = (
        ("topics", "publish", [*OF_EVERY_NODE, *SOMETIMES, *(name for name, item in topics.items() if item.sources)]),
        ("topics", "subscribe", [*OF_EVERY_NODE, *(name for name, item in topics.items() if item.readers)]),
        ("services", "reply", [*OWN_SERVICES, *(name for name, item in services.items() if item.sources)]),
        ("services", "request", [name for name, item in services.items() if item.readers]),
        ("actions", "execute", ACTIONS),
    )
    operator = (
        ("topics", "publish", [*OF_EVERY_NODE, *commands]),
        ("topics", "subscribe", ["*", "/*"]),
        ("services", "reply", OWN_SERVICES),
        ("services", "request", ["*"]),
        ("actions", "call", ["*"]),
    )
    return "\n".join((_enclave("robot", robot), _enclave("operator", operator)))


def _enclave(name: str, rules: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    lines = [f'    <enclave path="/hexapod/{name}">', "      <profiles>", f'        <profile ns="/" node="{name}">']
    for kind, access, names in rules:
        lines.append(f'          <{kind} {access}="ALLOW">')
        lines += [f"            <{kind[:-1]}>{name}</{kind[:-1]}>" for name in sorted(set(names))]
        lines.append(f"          </{kind}>")
    return "\n".join((*lines, "        </profile>", "      </profiles>", "    </enclave>"))


def _default(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ".nan" if value != value else str(value)


def _parameter(row: parameters.Parameter) -> tuple[str, ...]:
    """Name, default, bounds and meaning of a parameter."""
    default = BY_DISTRIBUTION if row.name == "enable_stamped_cmd_vel" else _default(row.default)
    bounds = row.quantity.bounds if row.quantity else ""
    return f"`{row.name}`{LIVE if row.live else ''}", default, bounds, row.metadata["meaning"]


def _settings() -> Mapping[str, Sequence[type]]:
    """The classes of parameters that the module of each node works with, without those of robot files."""
    return {
        node: [
            kind
            for name, kind in vars(module).items()
            if name.endswith("Settings")
            and is_dataclass(kind)
            and not kind.__module__.startswith("hexapod_control.servos")
        ]
        for node, module in modules().items()
    }


def node_parameters() -> str:
    """Parameters of all nodes, as they declare them: every settings class that a node's module works with.

    Those that several nodes have alike stand in the first table; rows that differ only in the name are one row.
    """
    owners: dict[tuple[str, ...], list[str]] = {}
    for node, kinds in _settings().items():
        for row in (_parameter(row) for kind in (IntrospectionSettings, *kinds) for row in parameters.table(kind)):
            owners.setdefault(row, []).append(node)
    head = ("parameter", "default", "bounds", "what it is")
    shared = [(*row, _names(nodes)) for row, nodes in owners.items() if len(nodes) > 1]
    parts = [f"### Of several nodes\n\n{table((*head, 'nodes'), shared)}"]
    for node in modules():
        own = [row for row, nodes in owners.items() if nodes == [node]]
        numbers = [row for row in own if row[2] == CONTROL_NUMBERS]
        others = [row for row in own if row not in numbers]
        tables = [table(head, _named_together(others))] if others else []
        if numbers:
            controls = [(name, default, meaning.removesuffix("; -1: none")) for name, default, _, meaning in numbers]
            tables.append(
                table(("parameter", "default", "button or axis of this number, at most 63; -1: none"), controls)
            )
        if own:
            parts.append("\n\n".join((f"### {node}", *tables)))
    return "\n\n".join(parts)


def launch_arguments() -> str:
    """Arguments of the launch files, and which file takes them; those that only set a parameter without description."""
    graphs = [name for name in node_graph.GRAPHS if (LAUNCH_FILES / f"{name}.launch.py").is_file()]
    settings = {row.name for kinds in _settings().values() for kind in kinds for row in parameters.table(kind)}
    rows: list[tuple[str, ...]] = []
    of_parameters: dict[str, list[str]] = {}
    for argument in node_graph.ARGUMENTS.values():
        files = ", ".join(name for name in graphs if argument in node_graph.arguments(name))
        if argument.name in settings and not argument.default:
            of_parameters.setdefault(files, []).append(f"`{argument.name}`")
        else:
            default = BY_DISTRIBUTION if argument.name == "enable_stamped_cmd_vel" else argument.default
            rows.append((f"`{argument.name}`", default, files, argument.description))
    listed = "\n".join(f"- {files}: {', '.join(names)}" for files, names in of_parameters.items())
    described = table(("argument", "default", "launch files", "what it is"), rows)
    return f"{described}\n\nThese set the [parameter](#parameters) of the same name:\n\n{listed}"


def commands() -> str:
    """All subcommands of `hexapod`."""
    return table(("command", "what it does"), ((f"`{name}`", row.text) for name, row in main.COMMANDS.items()))


def robot_file_lines() -> Iterator[schema.SchemaLine]:
    """Every key of a robot file."""
    places = (
        ("", (*robot_keys.ROBOT, robot_keys.ECONOMY)),
        ("leg.", (*robot_keys.COMMON, robot_keys.SERVO_VOLTAGE)),
        ("legs.LEG.", (*robot_keys.PLACE, robot_keys.FOOTHOLD, robot_keys.TILT)),
        ("gaits.GAIT.", (*robot_keys.GAIT, robot_keys.LIFT_OFF.below("LEG"))),
        ("cameras.CAMERA.", robot_keys.CAMERA),
        ("extra_joints.NAME.", robot_keys.EXTRA_JOINT),
        ("extra_joints.NAME.", chain.from_iterable(robot_keys.EXTRA_RANGES.values())),
        ("extra_joints.NAME.", (robot_keys.EXTRA_MULTIPLIER, *robot_keys.EXTRA_OFFSETS.values())),
        ("extra_joints.NAME.", (robot_keys.EXTRA_SERVO,)),
        ("confirmed.", (robot_keys.CONFIRMED,)),
        ("odometry_scale.", robot_keys.ODOMETRY_SCALE),
        ("measured.", (robot_keys.MEASURED_DATE,)),
        ("measured.LEG.JOINT.", robot_keys.MEASURED),
    )
    yield from (row.line(prefix) for prefix, rows in places for row in rows)
    for section, lines in (("servos", servo_section.section_lines()), ("io", io_section.io_lines())):
        yield from (line._replace(key=f"{section}.{line.key}") for line in lines)


def robot_file() -> str:
    """All keys of a robot file by section."""
    head = ("key", "value, and its default", "what it is")
    parts = []
    for section, lines in groupby(robot_file_lines(), lambda line: line.key.partition(".")[0]):
        rows = ((f"`{line.key}`", _with_default(_value(line), line.default), line.meaning) for line in lines)
        parts += [f"## {section}", *filter(None, [SECTIONS.get(section)]), table(head, _named_together(rows))]
    return "\n\n".join(parts)


def _named_together(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """One row for those that differ only in the first cell, a name."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, *row in rows:
        names.setdefault(tuple(row), []).append(name)
    yield from ((", ".join(found), *row) for row, found in names.items())


def _with_default(value: str, default: str) -> str:
    """A value with its default in parentheses; a required one stands alone."""
    return value if default in ("required", OF_PROTOCOL) else f"{value} ({default})"


def _value(line: schema.SchemaLine) -> str:
    """Bounds and unit of a value, with its type unless it is a plain number or the bounds say it."""
    bounds = f"{line.bound} {line.unit}".strip()
    return bounds if line.kind in ("number", "text", "word") else f"{line.kind}, {bounds}"


def motion_file() -> str:
    """Keys of a motion file and of every kind of step."""
    head = ("key", "value, and its default", "what it is")
    rows = (*(key.documentation for key in keys(Choreography).values()), FOR_HEIGHT_DOCUMENTATION, BEATS_DOCUMENTATION)
    parts = [table(head, map(_motion_key, rows))]
    steps: list[tuple[str, ...]] = []
    for name, kind in KINDS.items():
        steps.append((f"**{name}**", "", f"{kind.__doc__}"))
        steps += [_motion_key(key.documentation) for key in keys(kind).values()]
    return "\n\n".join((*parts, table(("**step**, key", *head[1:]), steps)))


def _motion_key(documentation: tuple[str, str, str, str, str]) -> tuple[str, str, str]:
    name, values, default, scaled, meaning = documentation
    return name, _with_default(values, default) + SCALED * bool(scaled), meaning


def states() -> str:
    """States that follow from each request in each state, from trying all of them on the planner."""
    found: dict[str, dict[str, str]] = {}
    for state, request, outcome in transitions(load("phantomx").robot):
        found.setdefault(state, {})[request] = outcome
    reasons: dict[str, int] = {}

    def cell(outcome: str) -> str:
        went, refused, reason = outcome.rpartition("refused: ")
        if not refused:
            return "" if outcome == "stays" else outcome
        return f"{went}refused ({reasons.setdefault(reason, len(reasons) + 1)})"

    requests = tuple(next(iter(found.values())))
    rows = [(state, *(cell(row[request]) for request in requests)) for state, row in found.items()]
    numbered = "\n".join(f"{number}. {reason}" for reason, number in reasons.items())
    return f"{table(('state', *requests), rows)}\n\nRefused because:\n\n{numbered}"


def servo_models() -> str:
    """The rows of config/servos.yaml."""
    rows = (
        (
            servo.model if servo.verified else f"{servo.model} *",
            servo.maker,
            f"`{servo.protocol}`",
            ", ".join(f"{each.voltage:g}" for each in servo.figures),
            ", ".join(f"{each.no_load_speed:.3g}" for each in servo.figures),
            ", ".join(f"{each.stall_torque:.3g}" for each in servo.figures),
            f"{servo.turn:g}",
        )
        for servo in servo_table()
    )
    return table(("model", "maker", "protocol", "V", "rad/s", "N m", "range, deg"), rows)


def gallery() -> str:
    """The robots that come with the package."""
    head = ("robot", "legs", "kg", "coxa, femur, tibia, mm", "servo", "gait", "what it is")
    return table(head, map(_gallery_row, known_robots()))


def _gallery_row(name: str) -> tuple[str, ...]:
    file = load(name)
    robot, leg = file.robot, file.robot.legs[0]
    comment = " ".join(re.findall(r"^# (.*)$", file.path.read_text(encoding="utf-8").split("\n\n")[0], re.M))
    what = re.match(r'(?:"[^"]*"|[^".:,])+', comment)
    lengths = ", ".join(f"{1000.0 * link.length:g}" for link in (leg.coxa, leg.femur, leg.tibia))
    described = "" if what is None else what[0]
    return f"`{name}`", str(len(robot.legs)), f"{robot.mass:.1f}", lengths, file.servo_model, robot.walk.gait, described


TABLES: Mapping[str, Callable[[], str]] = {
    "topics": topics,
    "qos": qos,
    "services": services,
    "parameters": node_parameters,
    "launch arguments": launch_arguments,
    "commands": commands,
    "motion file": motion_file,
    "states": states,
}
PAGES: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    REFERENCE: TABLES,
    REFERENCE.with_name("robot-file.md"): {"robot file": robot_file},
    REFERENCE.with_name("your-servos.md"): {"servo models": servo_models},
    REFERENCE.with_name("gallery.md"): {"gallery": gallery},
    REFERENCE.parents[1] / "config" / "sros2_policy.xml": {"policy": policy},
}


def filled(text: str, tables: Mapping[str, Callable[[], str]] = TABLES) -> str:
    """The text with every table as the code has it. Raises ValueError for a table that is missing."""
    for name, make in tables.items():
        places = re.findall(rf"<!-- {name} -->\n.*?<!-- end -->", text, re.S)
        if len(places) != 1:
            raise ValueError(f"the page has {len(places)} places for the table '{name}', must have 1")
        text = text.replace(places[0], f"<!-- {name} -->\n\n{make()}\n\n<!-- end -->")
    return text


if __name__ == "__main__":
    for page, tables in PAGES.items():
        page.write_text(filled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    sys.exit(0)
