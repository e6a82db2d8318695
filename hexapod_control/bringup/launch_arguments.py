# SPDX-License-Identifier: Apache-2.0
"""The table of launch arguments, and their checks before anything starts.

A value that a node would refuse is refused here by the same rule, because the node would refuse it only after all nodes
were started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hexapod_control.config import ros_names
from hexapod_control.config.channel_file import RECEIVERS
from hexapod_control.config.errors import ArgumentError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf_import.joint_mapping import load_mapping
from hexapod_control.config.schema import did_you_mean
from hexapod_control.core.gait.gait_table import unknown_gait
from hexapod_control.core.names import quoted, shortened
from hexapod_control.core.quantity import Quantity, QuantityError, quantities
from hexapod_control.core.reality import REALITIES
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS
from hexapod_control.core.sensing.odometry import ODOMETRY_MODES
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.core.workspace.robot_gaits import gait_names
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.servos.settings.io_section import io_settings
from hexapod_control.servos.settings.servo_section import WIRED, servo_settings
from hexapod_control.sim.world_settings import WorldSettings
from hexapod_control.web.page_address import PORT

TEXT = "text"
NUMBER = "number"
INTEGER = "whole number"
TRUTH = "truth"
ParameterValue = str | float | int | bool


class GraphError(ValueError):
    """An unknown launch argument, or a value that it does not accept."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a launch file. `default` is what a user would type; empty: the default of the node's parameter."""

    name: str
    kind: str
    description: str
    default: str = ""
    choices: tuple[str, ...] = ()  # of a text; empty: any
    quantity: Quantity | None = None  # of a number

    def value(self, text: str) -> ParameterValue:
        """Converts a text to the type of the argument. Raises GraphError."""
        value = self._converted(text)
        if self.choices and value not in self.choices:
            raise GraphError(f"{self.name}: must be one of {', '.join(self.choices)}, is {quoted(text)}")
        return value

    def _converted(self, text: str) -> ParameterValue:
        if self.quantity is not None:
            try:
                return self.quantity.read(text)
            except QuantityError as error:
                raise GraphError(f"{self.name}: {error}") from None
        if self.kind == TRUTH and text.lower() not in ("true", "false"):
            raise GraphError(f"{self.name}: must be true or false, is {quoted(text)}")
        return text if self.kind == TEXT else text.lower() == "true"


def _number(name: str, quantity: Quantity) -> Argument:
    description = f"{quantity.meaning} [{quantity.unit}]".removesuffix(" []")
    return Argument(name, INTEGER if quantity.whole else NUMBER, description, quantity=quantity)


_DEVICE = Quantity("", 0, 255, "number of the gamepad, if there are several", whole=True)
_WORLD = dict(quantities(WorldSettings))
ARGUMENTS = {
    argument.name: argument
    for argument in (
        Argument("robot", TEXT, "name of a shipped robot, or a robot file; for display also a URDF", "phantomx"),
        Argument("namespace", TEXT, "namespace of all nodes and topics"),
        Argument("joint_mapping", TEXT, "file with the joint names, signs and zeros of a URDF, from hexapod import"),
        Argument("use_sim_time", TRUTH, "run on the time of /clock", "false"),
        Argument("params_file", TEXT, "ROS parameter file for all nodes; it overrides the other arguments"),
        Argument("gait", TEXT, "gait to start with; empty: the robot file's"),
        Argument("cmd_vel", TEXT, "topic of the velocity command", "cmd_vel"),
        Argument(
            "enable_stamped_cmd_vel", TRUTH, "cmd_vel is TwistStamped, not Twist", str(stamped_by_default()).lower()
        ),
        Argument("stand_on_start", TRUTH, "stand up as soon as the pose is known"),
        Argument("sit_on_exit", TRUTH, "the robot sits down before its torque is switched off at the end", "true"),
        Argument(
            "adaptive_touch_down",
            TRUTH,
            "a foot stops at an early contact, and moves down until it touches the ground; "
            "empty: if terrain_map is started",
        ),
        Argument("map_footholds", TRUTH, "step where terrain_map shows a place to stand; empty: with terrain_map"),
        Argument("imu_levelling", TRUTH, "keep the body level by the IMU"),
        Argument("enable_odom_tf", TRUTH, "odometry broadcasts odom -> base_footprint (false with robot_localization)"),
        Argument(
            "odometry_mode",
            TEXT,
            "commanded, legs, legs_imu or legs_imu_3d; empty: legs, or legs_imu_3d if terrain_map is started",
            choices=ODOMETRY_MODES,
        ),
        Argument(
            "terrain_map", TRUTH, "start terrain_map; empty: if the robot has a depth camera, or with point_clouds"
        ),
        Argument(
            "point_clouds", TEXT, "clouds for terrain_map in place of the depth cameras; in simulation lidar/points"
        ),
        Argument("tf_frame_prefix", TEXT, "prefix of every frame id, for several robots in one tf tree"),
        Argument("world", TEXT, f"ground of the simulation: {', '.join(WORLDS)}"),
        *(
            _number(name, _WORLD[name])
            for name in (
                *("seed", "slope_deg", "block_height", "bump_height", "stair_rise", "gap_width"),
                *("friction", "payload", "reality_seed"),
            )
        ),
        Argument("reality", TEXT, "errors of the simulated robot; empty: ideal", choices=tuple(REALITIES)),
        Argument(
            "depth_camera",
            TEXT,
            "a simulated depth camera at this place of the body; empty: those of the robot file",
            choices=tuple(USUAL_CAMERAS),
        ),
        Argument("servo_model", TEXT, "servo of the simulated joints; empty: the robot file's"),
        Argument("bus", TEXT, "servo bus between planner and simulation, a protocol; empty: none", choices=WIRED),
        Argument("servo_protocol", TEXT, "servo bus; empty: the robot file's"),
        Argument("servo_port", TEXT, "serial port of the servos; empty: the robot file's"),
        Argument("arm_on_start", TRUTH, "switch the torque on at the start, if the servos report their positions"),
        Argument("wait_for_port", TRUTH, "start before the servo port exists, torque on when it appears"),
        Argument("imu", TRUTH, "start imu_driver; empty: if the robot file has an IMU in its section io"),
        Argument("i2c_bus", TEXT, "I2C bus of the sensors; empty: that of the robot file's section io"),
        Argument("one_process", TRUTH, "all nodes in one process; empty: on computers with at most 1.5 GB of memory"),
        Argument("web", TRUTH, "start the page for the browser"),
        Argument("web_lan", TRUTH, "open the page to the network, with invitations by QR code"),
        Argument("web_bind", TEXT, "address on which the page is served"),
        _number("web_port", PORT),
        Argument("web_certificate", TEXT, "folder made by hexapod web-cert, to serve the page by https"),
        Argument("web_shutdown", TEXT, "command that a page may run to switch the computer off; empty: none"),
        _number("device_id", _DEVICE),
        Argument("device_name", TEXT, "name of the gamepad, or a part of it"),
        Argument("receiver", TEXT, "protocol of the RC receiver", "crsf", choices=RECEIVERS),
        Argument("receiver_port", TEXT, "serial port of the RC receiver; empty: /dev/serial0"),
        Argument("channels", TEXT, "file that says which RC channel is which control; empty: config/rc/aetr.yaml"),
        Argument("fixed_frame", TEXT, "fixed frame of RViz, without the prefix", "odom"),
        Argument(
            "robot_state_publisher",
            TRUTH,
            "publish the URDF and the frames of the links; empty: sim and bringup do without a joint mapping, display "
            "does for a URDF or with ros2_control",
        ),
        Argument("ros2_control", TRUTH, "robot_description has the tags of ros2_control", "false"),
    )
}


def argument_values(graph: str, known: Iterable[Argument], given: Mapping[str, object]) -> dict[str, ParameterValue]:
    """Returns the checked values of the arguments of a graph, given as texts or values; empty ones are left out.

    Raises GraphError; FileError for the robot or its joint mapping.
    """
    table = {argument.name: argument for argument in known}
    for name in given:
        if name not in table:
            hint = did_you_mean(name, tuple(table)) or f"known are {', '.join(table)}"
            raise GraphError(f"{shortened(name)}: unknown argument of {graph}, {hint}")
    texts = {name: str(value) for name, value in given.items() if value is not None}
    texts = {name: texts.get(name) or argument.default for name, argument in table.items()}
    values = {name: table[name].value(text) for name, text in texts.items() if text}
    _check_names(values)
    _check_world(values)
    if "robot" in values and not is_urdf(str(values["robot"])):
        file = load(str(values["robot"]))
        texts = {name: str(values.get(name, "")) for name in table}
        for name, rule in ROBOT_RULES.items():
            if name in table and "params_file" not in values:
                rule(file, texts)
    return values


def _check_names(values: Mapping[str, ParameterValue]) -> None:
    """Refuses a namespace, topic, frame, parameter file or domain id that ROS cannot use."""
    try:
        ros_names.namespace(str(values.get("namespace", "")))
        ros_names.topic(str(values.get("cmd_vel", "cmd_vel")))
        ros_names.frame_prefix(str(values.get("tf_frame_prefix", "")))
        ros_names.frame(str(values.get("fixed_frame", "odom")))
        params_file = ("--params-file", str(values["params_file"])) if "params_file" in values else ()
        ros_names.check_arguments(params_file)
    except ros_names.RosNameError as error:
        raise GraphError(str(error)) from None


def _check_world(values: Mapping[str, Any]) -> None:
    names = {item.name for item in fields(WorldSettings)}
    try:
        WorldSettings(**{name: value for name, value in values.items() if name in names})
    except ValueError as error:
        raise GraphError(str(error)) from None


def _check_gait(file: RobotFile, texts: Mapping[str, str]) -> None:
    refusal = unknown_gait(texts["gait"], gait_names(file.robot)) if texts["gait"] else None
    if refusal:
        raise GraphError(f"gait: {refusal}")


def _check_servos(file: RobotFile, texts: Mapping[str, str]) -> None:
    try:
        servo_settings(file, texts["servo_protocol"], texts["servo_port"])
    except ArgumentError as error:
        raise GraphError(f"servo_{error}") from None


# Checks that depend on the robot, for graphs with an argument of that name. With a parameter file, which may name
# another robot, they are left to the nodes.
ROBOT_RULES: Mapping[str, Callable[[RobotFile, Mapping[str, str]], object]] = {
    "gait": _check_gait,
    "joint_mapping": lambda file, texts: load_mapping(texts["joint_mapping"], file.robot),
    "servo_protocol": _check_servos,
    "i2c_bus": lambda file, texts: io_settings(file),
}


def is_urdf(robot: str) -> bool:
    """Whether a value of the argument `robot` is a URDF or xacro file."""
    return robot.lower().endswith((".urdf", ".xacro"))
