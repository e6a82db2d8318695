"""Parameters: dataclass fields become ROS parameters here and nowhere else.

A field's default stands once, on the field; its metadata says unit, bounds (`lower`, `upper`) and description, and
where needed `name` (another spelling for ROS), `live` (may be changed while the node runs) and `from_robot` (not a
number means: what the robot can do). A field whose default is another such dataclass is a group: `name.field`. Every
value is checked at declaration and on every change; a refused change leaves the old value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult

from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.core.workspace.twist_limits import AxisLimits, TwistLimits
from hexapod_control.ros.distribution import stamped_by_default

Settings = TypeVar("Settings")
LIVE: Mapping[str, Any] = {"live": True}
FROM_ROBOT: Mapping[str, Any] = {"live": True, "from_robot": True}


class ParameterError(ValueError):
    """A parameter value that cannot be used: name, value, bounds and cure in one sentence."""


def number(default: float, unit: str, lower: float, upper: float, description: str, **more: Any) -> Any:
    """A field for a number in [lower, upper]; whole if the default is."""
    metadata = {"unit": unit, "lower": lower, "upper": upper, "description": description, **more}
    return dataclasses.field(default=default, metadata=metadata)


def choice(default: str | bool, description: str, **more: Any) -> Any:
    """A field for a text or a truth."""
    return dataclasses.field(default=default, metadata={"unit": "", "description": description, **more})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a node's table of parameters."""

    name: str
    default: Any
    metadata: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """True if the parameter may be changed while the node runs."""
        return bool(self.metadata.get("live"))

    @property
    def bounds(self) -> str:
        """The bounds as text; empty for texts and truths."""
        if "lower" not in self.metadata:
            return ""
        unit = f" {self.metadata['unit']}" if self.metadata["unit"] else ""
        return f"[{self.metadata['lower']:g}, {self.metadata['upper']:g}]{unit}"

    def value(self, given: object) -> Any:
        """The value, a whole number as a float where one is expected. Raises ParameterError."""
        kind = type(self.default)
        if kind is float and type(given) is int:
            given = float(given)
        if type(given) is not kind:
            words = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
            raise ParameterError(f"{self.name} must be {words[kind]}, is {given!r}; e.g. {self._spelt(self.default)}")
        if self.bounds and not self._inside(given):
            also = ", or .nan for what the robot can do" if self.metadata.get("from_robot") else ""
            raise ParameterError(f"{self.name} must be in {self.bounds}{also}, is {given}")
        return given

    def _inside(self, given: Any) -> bool:
        if math.isnan(given):
            return bool(self.metadata.get("from_robot"))
        return bool(self.metadata["lower"] <= given <= self.metadata["upper"])

    @staticmethod
    def _spelt(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value) or "''"

    def descriptor(self) -> Any:
        """What `ros2 param describe` shows."""
        unit = f" [{self.metadata['unit']}]" if self.metadata["unit"] else ""
        descriptor = ParameterDescriptor(
            name=self.name,
            description=f"{self.metadata['description']}{unit}",
            read_only=not self.live,
            dynamic_typing=type(self.default) is float,  # 50 is as good as 50.0
        )
        if self.bounds and not self.metadata.get("from_robot"):  # rclpy's own check of a range refuses NaN
            lower, upper = self.metadata["lower"], self.metadata["upper"]
            if type(self.default) is int:
                descriptor.integer_range = [IntegerRange(from_value=int(lower), to_value=int(upper), step=0)]
            else:
                descriptor.floating_point_range = [FloatingPointRange(from_value=float(lower), to_value=float(upper))]
        elif self.bounds:
            descriptor.additional_constraints = f"in {self.bounds}, or .nan for what the robot can do"
        return descriptor


def table(kind: type) -> tuple[Parameter, ...]:
    """The parameters of a settings dataclass, in its order."""
    return tuple(_rows(kind, ""))


def _rows(kind: type, prefix: str) -> Iterator[Parameter]:
    for item in dataclasses.fields(kind):
        name = prefix + item.metadata.get("name", item.name)
        if item.default is dataclasses.MISSING:
            assert isinstance(item.default_factory, type)
            yield from _rows(item.default_factory, f"{name}.")
        else:
            yield Parameter(name, item.default, item.metadata)


def build(kind: type[Settings], values: Mapping[str, Any], prefix: str = "") -> Settings:
    """Settings of values by parameter name. Raises ParameterError where the dataclass refuses them."""
    arguments: dict[str, Any] = {}
    for item in dataclasses.fields(kind):  # type: ignore[arg-type]
        name = prefix + item.metadata.get("name", item.name)
        if item.default is dataclasses.MISSING:
            arguments[item.name] = build(item.default_factory, values, f"{name}.")  # type: ignore[arg-type]
        else:
            arguments[item.name] = values[name]
    try:
        return kind(**arguments)
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(str(error)) from None


def declare(node: Any, kind: type[Settings], changed: Callable[[Settings], None] | None = None) -> Settings:
    """Declares a dataclass's parameters on a node and gives the settings; `changed` gets those after a change.

    Raises ParameterError for a value given at the start that cannot be used.
    """
    rows = {row.name: row for row in table(kind)}
    values = {name: _declared(node, row) for name, row in rows.items()}
    settings = build(kind, values)

    def asked(parameters: list[Any]) -> Any:
        try:
            new = {p.name: rows[p.name].value(p.value) for p in parameters if p.name in rows}
            build(kind, {**values, **new})
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=f"{error}; the old value stays")
        return SetParametersResult(successful=True)

    def done(parameters: list[Any]) -> None:
        new = {p.name: rows[p.name].value(p.value) for p in parameters if p.name in rows}
        values.update(new)
        if new and changed is not None:
            changed(build(kind, values))

    node.add_on_set_parameters_callback(asked)
    node.add_post_set_parameters_callback(done)
    return settings


def _declared(node: Any, row: Parameter) -> Any:
    # The start value is checked here, with the parameter's own words, before rclpy sees a descriptor with a range.
    free = ParameterDescriptor(dynamic_typing=True)
    value = row.value(node.declare_parameter(row.name, row.default, free).value)
    node.undeclare_parameter(row.name)
    node.declare_parameter(row.name, value, row.descriptor(), ignore_override=True)
    return value


# --- the nodes of this package -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RobotSettings:
    """What every node needs to know."""

    robot: str = choice("phantomx", "name of a robot that comes with the package, or path of a robot file")


@dataclass(frozen=True, slots=True)
class LinearAxis:
    """Limits of a linear axis."""

    max_velocity: float = number(math.nan, "m/s", 0.0, 10.0, "greatest speed forward or left", **FROM_ROBOT)
    min_velocity: float = number(math.nan, "m/s", -10.0, 0.0, "greatest speed the other way, negative", **FROM_ROBOT)
    max_acceleration: float = number(math.nan, "m/s^2", 0.01, 100.0, "greatest increase of the speed", **FROM_ROBOT)
    max_deceleration: float = number(math.nan, "m/s^2", 0.01, 100.0, "greatest decrease of the speed", **FROM_ROBOT)


@dataclass(frozen=True, slots=True)
class AngularAxis:
    """Limits of the rotation."""

    max_velocity: float = number(math.nan, "rad/s", 0.0, 20.0, "greatest rate counter-clockwise", **FROM_ROBOT)
    min_velocity: float = number(math.nan, "rad/s", -20.0, 0.0, "greatest rate clockwise, negative", **FROM_ROBOT)
    max_acceleration: float = number(math.nan, "rad/s^2", 0.01, 200.0, "greatest increase of the rate", **FROM_ROBOT)
    max_deceleration: float = number(math.nan, "rad/s^2", 0.01, 200.0, "greatest decrease of the rate", **FROM_ROBOT)


@dataclass(frozen=True, slots=True)
class PlannerSettings(RobotSettings):
    """Parameters of gait_planner."""

    gait: str = choice("", "gait to start with; empty: the robot file's")
    control_rate: float = number(50.0, "Hz", 10.0, 500.0, "ticks of the planner")
    cmd_vel_timeout: float = number(0.5, "s", 0.05, 10.0, "a velocity command is good for this long", **LIVE)
    enable_stamped_cmd_vel: bool = choice(stamped_by_default(), "cmd_vel is TwistStamped, not Twist")
    publish_limited_velocity: bool = choice(False, "publish the executed velocity on cmd_vel_out")
    stand_on_start: bool = choice(False, "stand up as soon as the pose is known")
    sit_on_exit: bool = choice(False, "asked to end, sit down first; else the feet come down and stay")
    lift_scale: float = number(1.0, "", 0.2, 1.0, "height of the steps as a share of walk.lift_height", **LIVE)
    swing_time_scale: float = number(
        1.0, "", 0.8, 2.0, "time of a swing, and so of a cycle, as a share of walk.swing_time", **LIVE
    )
    stability_margin_min: float = number(
        0.01, "m", 0.0, 0.2, "static margin below which a walk slows, leans or changes its gait; 0: never", **LIVE
    )
    adaptive_touch_down: bool = choice(
        False, "feet come down until they touch, as foot_states tells, and keep the height at which they did", **LIVE
    )
    imu_levelling: bool = choice(False, "keep the body level by imu/data, as far as the legs reach", **LIVE)
    tf_frame_prefix: str = choice("", "put before the frame ids of foot_markers")
    linear_x: LinearAxis = dataclasses.field(default_factory=LinearAxis, metadata={"name": "linear.x"})
    linear_y: LinearAxis = dataclasses.field(default_factory=LinearAxis, metadata={"name": "linear.y"})
    angular_z: AngularAxis = dataclasses.field(default_factory=AngularAxis, metadata={"name": "angular.z"})

    @property
    def limits(self) -> TwistLimits:
        """The limits as the core takes them."""
        axes = (self.linear_x, self.linear_y, self.angular_z)
        return TwistLimits(*(AxisLimits(*dataclasses.astuple(axis)) for axis in axes))

    @property
    def adaptation(self) -> Adaptation:
        """What the core makes of its senses."""
        return Adaptation(self.adaptive_touch_down, self.imu_levelling)


@dataclass(frozen=True, slots=True)
class DriverSettings(RobotSettings):
    """Parameters of servo_driver."""

    control_rate: float = number(50.0, "Hz", 10.0, 500.0, "rows of joint_states, at most")
    arm_on_start: bool = choice(True, "hold the joints from the start, where the servos can tell where they are")
    protocol: str = choice("", "servo bus; empty: the robot file's, loopback if it has no servos section")
    port: str = choice("", "serial port; empty: the robot file's")
    wait_for_port: bool = choice(False, "start without the port, and hold the joints when it comes")
    reply_margin: float = number(0.008, "s", 0.001, 0.2, "a reply may be so late before it counts as lost")
    assume_lying: bool = choice(False, "hold servos that cannot tell where they are, too: the robot lies on its belly")
    calibration_pace: float = number(1.0, "", 0.1, 50.0, "moves of the guided calibration, times as fast as usual")
    publish_foot_states: bool = choice(
        True, "tell from the servos' loads which feet carry, where they tell them; false: contact sensors tell it"
    )


@dataclass(frozen=True, slots=True)
class SimulatorSettings(RobotSettings):
    """Parameters of mujoco_sim, beside those of the simulated world (sim.settings.WorldSettings)."""

    rate: float = number(100.0, "Hz", 50.0, 500.0, "steps of the world and imu/data; joint_states at half of it")
    sim_speed_factor: float = number(1.0, "", 0.05, 10.0, "simulated seconds per second; not 1 needs use_sim_time")
    publish_clock: bool = choice(False, "publish the simulated time on /clock and stamp with it")
    headless: bool = choice(True, "run without a window; false opens MuJoCo's viewer")
    record: str = choice("", "file (.npz) for the states of the run, written at the end; empty: none")
    record_rate: float = number(25.0, "Hz", 1.0, 100.0, "states per simulated second in the record")
    tf_frame_prefix: str = choice("", "put before the frame ids base_link and imu_link")
    bus: str = choice("", "servo bus to be behind instead of joint_targets: a protocol; empty: none")
    bus_port: str = choice("", "link to make to the bus, the port of its servo_driver")


ODOMETRY_MODES = ("commanded", "legs", "legs_imu")


@dataclass(frozen=True, slots=True)
class OdometrySettings(RobotSettings):
    """Parameters of odometry."""

    publish_rate: float = number(50.0, "Hz", 1.0, 200.0, "odom and tf, at most")
    mode: str = choice(
        "legs", "commanded, legs or legs_imu: joint_targets, joint_states with foot_states, these and imu/data"
    )
    enable_odom_tf: bool = choice(True, "broadcast odom -> base_footprint; base_footprint -> base_link always is")
    odom_frame_id: str = choice("odom", "frame of the pose")
    base_frame_id: str = choice("base_footprint", "frame of the velocity")
    tf_frame_prefix: str = choice("", "put before every frame id")

    def __post_init__(self) -> None:
        if self.mode not in ODOMETRY_MODES:
            raise ParameterError(f"mode must be one of {', '.join(ODOMETRY_MODES)}, is {self.mode!r}")


@dataclass(frozen=True, slots=True)
class WebSettings(RobotSettings):
    """Parameters of web."""

    bind: str = choice("127.0.0.1", "address to listen on; lan listens on all")
    port: int = number(8770, "", 0, 65535, "port to listen on, 0 takes a free one")
    lan: bool = choice(False, "open the page to the network and show a QR code with an invitation for one person")
    token: str = choice("", "a token of your own, at least 16 characters; empty: a random one at every start")
    allowed_hosts: str = choice("", "more host names under which the page is opened, with commas, e.g. of a TLS proxy")
    rate: float = number(30.0, "Hz", 1.0, 60.0, "states sent to every page")
    enable_stamped_cmd_vel: bool = choice(stamped_by_default(), "cmd_vel is TwistStamped, not Twist")
