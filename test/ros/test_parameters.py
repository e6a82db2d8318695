# SPDX-License-Identifier: Apache-2.0
"""Parameters: defaults once, bounds and finiteness at the start and on every change, refused with a reason."""

import dataclasses
import io
import math
import signal
import tempfile

import pytest
import rclpy
from hypothesis import given
from hypothesis import strategies as st
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter, parameter_dict_from_yaml_file
from ruamel.yaml import YAML
from support.real_time.ros_bench import overrides

from hexapod_control.core.quantity import number
from hexapod_control.nodes.gait_planner import gait_planner
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.gamepad.settings import GamepadSettings
from hexapod_control.nodes.imu_driver.settings import ImuDriverSettings
from hexapod_control.nodes.inverse_kinematics import inverse_kinematics
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.nodes.servo_driver import servo_driver
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.nodes.web.settings import WebSettings
from hexapod_control.ros import parameters
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.parameters import table
from hexapod_control.sim.world_settings import LidarSettings, WorldSettings

SETTINGS = (PlannerSettings, DriverSettings, SimulatorSettings, TeleopSettings, WebSettings, OdometrySettings)


def declared(bench, changed=None, **values):
    node = bench.add(rclpy.create_node("planner", parameter_overrides=overrides(**values)))
    return node, parameters.declare(node, PlannerSettings, changed)


def test_defaults_are_those_of_the_dataclass(bench):
    node, settings = declared(bench)
    assert settings.control_rate == PlannerSettings().control_rate == 50.0
    assert settings.cmd_vel_timeout == 0.5
    assert math.isnan(settings.limits.linear_x.max_velocity)
    assert {row.name for row in table(PlannerSettings)} >= {
        "robot",
        "gait",
        "enable_stamped_cmd_vel",
        "linear.x.max_velocity",
        "linear.y.min_velocity",
        "angular.z.max_acceleration",
        "angular.z.max_deceleration",
    }
    assert all(node.has_parameter(row.name) for row in table(PlannerSettings))


NUMBERS = [row for kind in SETTINGS for row in table(kind) if row.quantity]


@given(st.sampled_from(NUMBERS), st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=500)))
def test_any_value_of_a_parameter_is_inside_its_bounds_or_is_refused_in_one_short_line(row, given_value):
    try:
        value = row.value(given_value)
        inside = row.quantity.lower <= value <= row.quantity.upper
        assert inside or (math.isnan(value) and row.metadata.get("from_robot"))
    except parameters.ParameterError as error:
        assert str(error).startswith(row.name) and len(str(error)) < 400 and str(error).isprintable()


def test_descriptors_carry_description_unit_and_range(bench):
    node, _ = declared(bench)
    rate = node.describe_parameter("control_rate")
    assert "[Hz]" in rate.description
    assert rate.read_only
    assert (rate.floating_point_range[0].from_value, rate.floating_point_range[0].to_value) == (10.0, 500.0)
    assert not node.describe_parameter("cmd_vel_timeout").read_only
    assert "[0, 10] m/s" in node.describe_parameter("linear.x.max_velocity").additional_constraints


def test_an_integer_is_accepted_for_a_float_parameter(bench):
    _, settings = declared(bench, control_rate=60, linear__x__max_velocity=1)
    assert isinstance(settings.control_rate, float)
    assert settings.limits.linear_x.max_velocity == 1.0


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("control_rate", math.nan, r"control_rate must be in \[10, 500\] Hz, is nan"),
        ("control_rate", 5000.0, r"control_rate must be in \[10, 500\] Hz, is 5000"),
        ("control_rate", "fast", r'control_rate must be in \[10, 500\] Hz, is "fast", write the number alone, no unit'),
        ("stand_on_start", 1, "stand_on_start must be true or false, is 1"),
        (
            "linear__x__max_velocity",
            math.inf,
            r"linear.x.max_velocity must be in \[0, 10\] m/s, is inf, or .nan for what the robot can do",
        ),
        ("angular__z__min_velocity", 1.0, r"angular.z.min_velocity must be in \[-20, 0\] rad/s"),
    ],
)
def test_a_bad_value_at_the_start_is_refused_with_its_bounds(bench, name, value, reason):
    with pytest.raises(parameters.ParameterError, match=reason):
        declared(bench, **{name: value})


def test_a_live_change_is_handed_on(bench):
    seen = []
    node, _ = declared(bench, seen.append)
    assert node.set_parameters([Parameter("cmd_vel_timeout", value=0.3)])[0].successful
    assert node.set_parameters([Parameter("linear.x.max_velocity", value=0.05)])[0].successful
    assert seen[-1].cmd_vel_timeout == 0.3
    assert seen[-1].limits.linear_x.max_velocity == 0.05
    assert node.set_parameters([Parameter("linear.x.max_velocity", value=math.nan)])[0].successful
    assert math.isnan(seen[-1].limits.linear_x.max_velocity)


RCLPY = ("Parameter ", "Trying to set a read-only parameter")  # its own refusals, of types, ranges and constants


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cmd_vel_timeout", math.nan),
        ("cmd_vel_timeout", 1000.0),
        ("cmd_vel_timeout", "soon"),
        ("linear.x.max_velocity", -1.0),
        ("linear.x.max_velocity", math.inf),
        ("control_rate", 100.0),
        ("robot", "article"),
    ],
)
def test_a_bad_live_change_keeps_the_old_value_and_gives_the_reason(bench, name, value):
    seen = []
    node, _ = declared(bench, seen.append)
    before = node.get_parameter(name).value
    result = node.set_parameters([Parameter(name, value=value)])[0]
    assert not result.successful
    assert name in result.reason
    assert result.reason.endswith("; the old value stays") or result.reason.startswith(RCLPY)
    after = node.get_parameter(name).value
    assert after == before or (math.isnan(after) and math.isnan(before))
    assert seen == []


def test_a_request_with_too_many_names_is_refused_at_once_and_usual_ones_are_answered(bench):
    node = bench.add(GuardedNode("planner"))
    parameters.declare(node, PlannerSettings)
    many = GetParameters.Request(names=["gait"] * 1001)
    assert list(bench.call(GetParameters, "planner/get_parameters", many).values) == []
    assert "it has 1001 names, at most 1000 are accepted" in node.last_report("refused planner/get_parameters")
    changes = [ParameterMessage(name="gait")] * 1001
    for kind, service in ((SetParameters, "set_parameters"), (SetParametersAtomically, "set_parameters_atomically")):
        answer = bench.call(kind, f"planner/{service}", kind.Request(parameters=changes))
        (result,) = answer.results if kind is SetParameters else [answer.result]
        assert not result.successful and "at most 1000 are accepted" in result.reason
    usual = bench.call(GetParameters, "planner/get_parameters", GetParameters.Request(names=["robot"] * 1000))
    assert {value.string_value for value in usual.values} == {"phantomx"}


@pytest.mark.parametrize("kind", [SetParameters, SetParametersAtomically])
def test_a_parameter_of_an_unknown_type_is_refused_by_the_response(bench, kind):
    node = bench.add(GuardedNode("guarded"))
    wrong = ParameterMessage(name="use_sim_time", value=ParameterValue(type=255))
    service = {SetParameters: "set_parameters", SetParametersAtomically: "set_parameters_atomically"}[kind]
    response = bench.call(kind, f"guarded/{service}", kind.Request(parameters=[wrong]))
    results = response.results if kind is SetParameters else [response.result]
    assert [
        (each.successful, "type 255 is none of rcl_interfaces/msg/ParameterType" in each.reason) for each in results
    ] == [(False, True)]
    assert node.recent_reports() == []  # it is no defect of the node


DUMPED = (*SETTINGS, GamepadSettings, ImuDriverSettings, WorldSettings, LidarSettings, parameters.RobotSettings)


@pytest.mark.parametrize("kind", DUMPED)
def test_every_parameter_has_a_description_and_a_default_within_its_bounds(kind):
    for row in table(kind):
        assert row.metadata["meaning"]
        row.value(row.default)


def load_dump(bench, node, values):
    """The results by name of `ros2 param load` for values that `ros2 param dump` has written."""
    dump = io.StringIO()
    YAML(typ="safe", pure=True).dump({node.get_fully_qualified_name(): {"ros__parameters": values}}, dump)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(dump.getvalue())
        file.flush()
        messages = list(
            parameter_dict_from_yaml_file(file.name, target_nodes=[node.get_fully_qualified_name()]).values()
        )
    request = SetParameters.Request(parameters=messages)
    response = bench.call(SetParameters, f"{node.get_name()}/set_parameters", request)
    return dict(zip([each.name for each in messages], response.results, strict=True))


def values_of(node):
    return {name: node.get_parameter(name).value for name in node.list_parameters([], 0).names}


@pytest.mark.parametrize("kind", DUMPED)
def test_every_dump_loads_again(bench, kind):
    node = bench.add(GuardedNode("guarded"))
    parameters.declare(node, kind)
    before = values_of(node)
    results = load_dump(bench, node, before)
    assert {name: each.reason for name, each in results.items() if not each.successful} == {}
    assert repr(values_of(node)) == repr(before)
    assert results.keys() >= {row.name for row in table(kind)}


def test_a_dump_restores_limits_that_have_changed_since(bench):
    node, seen = bench.add(GuardedNode("guarded")), []
    parameters.declare(node, PlannerSettings, seen.append)
    before = values_of(node)
    changes = {"linear.x.max_velocity": 1, "cmd_vel_timeout": "1e-01"}
    assert all(each.successful for each in load_dump(bench, node, changes).values())
    assert [type(node.get_parameter(name).value) for name in changes] == [float, float]
    assert seen[-1].limits.linear_x.max_velocity == 1.0
    assert all(each.successful for each in load_dump(bench, node, before).values())
    assert math.isnan(seen[-1].limits.linear_x.max_velocity)
    refused = load_dump(bench, node, {"control_rate": 60.0, "cmd_vel_timeout": "soon", "stand_on_start": 1})
    assert not any(each.successful for each in refused.values())


def test_values_that_the_dataclass_refuses_are_refused(bench):
    @dataclasses.dataclass(frozen=True)
    class Range:
        low: float = number(0.0, "m", 0.0, 1.0, "lower end", live=True)
        high: float = number(1.0, "m", 0.0, 1.0, "upper end", live=True)

        def __post_init__(self):
            if self.low > self.high:
                raise ValueError(f"low must not be above high {self.high}, is {self.low}")

    node = bench.probe
    parameters.declare(node, Range)
    assert node.set_parameters([Parameter("high", value=0.5)])[0].successful
    result = node.set_parameters([Parameter("low", value=0.75)])[0]
    assert "low must not be above high 0.5, is 0.75" in result.reason
    assert node.get_parameter("low").value == 0.0


@pytest.fixture
def own_signals():
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for each, handler in kept.items():
        signal.signal(each, handler)


def one_line(capfd):
    lines = capfd.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize("node", [gait_planner, inverse_kinematics, servo_driver])
def test_a_bad_robot_file_ends_a_node_with_exit_code_2_and_one_line(node, own_signals, capfd, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\n")
    assert node.main(["--ros-args", "-p", f"robot:={path}"]) == 2
    assert one_line(capfd).startswith(str(path))


def test_an_unknown_robot_names_the_known_ones(own_signals, capfd):
    assert inverse_kinematics.main(["--ros-args", "-p", "robot:=phantomy"]) == 2
    assert "phantomx" in one_line(capfd)


def test_a_bad_parameter_ends_the_planner_with_exit_code_2_and_one_line(own_signals, capfd):
    assert gait_planner.main(["--ros-args", "-p", "cmd_vel_timeout:=.nan"]) == 2
    assert "cmd_vel_timeout must be in [0.05, 10] s, is nan" in one_line(capfd)


def test_an_unknown_gait_at_the_start_lists_the_known_ones(own_signals, capfd):
    assert gait_planner.main(["--ros-args", "-p", "gait:=gallop"]) == 2
    line = one_line(capfd)
    assert "gallop" in line
    assert "tripod, ripple" in line


def test_a_misspelt_parameter_is_named_and_a_wildcard_for_other_nodes_is_not(tmp_path, bench):
    path = tmp_path / "parameters.yaml"
    path.write_text("/**:\n  ros__parameters: {mode: legs, lift_scal: 0.5}\nplanner:\n  ros__parameters: {a: {b: 1}}\n")
    words = ["--ros-args", "--params-file", str(path), "-p", "nothing:=1", "-p", "gait:=wave"]
    node = bench.add(rclpy.create_node("planner", cli_args=words, use_global_arguments=False))
    parameters.declare(node, PlannerSettings)
    texts = sorted(parameters.undeclared(node, words))
    assert [text.split("'")[1] for text in texts] == ["a.b", "lift_scal", "nothing"]
    assert all(text.startswith("planner has no parameter ") for text in texts)
    assert texts[1].endswith("did you mean lift_scale?")
    assert all(text.endswith("`ros2 param list /planner` shows its parameters") for text in (texts[0], texts[2]))


def test_a_node_reports_a_misspelt_parameter(bench):
    words = ["--ros-args", "-p", "use_sim_tim:=true"]
    node = bench.add(GuardedNode("any", cli_args=words, use_global_arguments=False))
    bench.until(lambda: any("use_sim_time" in text for text in node.recent_reports()))
