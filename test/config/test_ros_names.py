# SPDX-License-Identifier: Apache-2.0
"""Names, files and numbers for ROS: what rclpy refuses is refused before it starts, in one sentence, exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.exceptions import InvalidNamespaceException, InvalidTopicNameException
from rclpy.validate_namespace import validate_namespace
from rclpy.validate_topic_name import validate_topic_name
from support.real_time.programs import HEXAPOD

from hexapod_control.bringup import nav2_graph, node_graph
from hexapod_control.cli.main import main
from hexapod_control.config.ros_names import (
    INSTALLED_MIDDLEWARE,
    MAX_DOMAIN,
    MAX_NAMESPACE_LENGTH,
    RosNameError,
    check_arguments,
    check_domain,
    check_middleware,
    check_security,
    frame,
    frame_prefix,
    namespace,
    topic,
)
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.imu_driver.settings import ImuDriverSettings
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.ros.parameters import ParameterError, build, table

WORDS = st.one_of(st.text(st.characters(exclude_characters="\0"), max_size=12), st.text("ab1_/ ~é", max_size=12))
BAD_NAMESPACES = ("9abc", "a b", "a//b", "x" * (MAX_NAMESPACE_LENGTH + 1), "é", "a\nb", "a/9")
LONGEST_S = 10.0  # 3 s on a machine that does nothing else
NODE = [sys.executable, "-m", "hexapod_control.nodes.gait_planner.gait_planner"]


def accepted(check, text):
    try:
        check(text)
    except (RosNameError, InvalidNamespaceException, InvalidTopicNameException) as error:
        if isinstance(error, RosNameError):
            assert len(str(error)) < 400 and str(error).isprintable()
        return False
    return True


@given(WORDS)
def test_a_namespace_is_accepted_as_by_rclpy(text):
    assert accepted(namespace, text) == accepted(validate_namespace, f"/{text.strip('/')}")


@given(WORDS)
def test_a_topic_that_is_accepted_is_accepted_by_rclpy_too(text):
    assert accepted(validate_topic_name, text) or not accepted(topic, text)


@given(WORDS)
def test_a_frame_that_is_accepted_has_no_slash_at_its_start_and_neither_has_a_prefix_with_it(text):
    if accepted(frame, text):
        assert text and not text.startswith("/") and "//" not in text and text.isprintable() and " " not in text
    if accepted(frame_prefix, text):
        assert accepted(frame, f"{text}base_link")


BAD_PREFIXES = ("/left/", "/", "left//", "a b/", "é/", "\x1b[31m", "a\n", "x" * 65)
FRAMED = {  # parameters that become frames, by the settings of their node
    OdometrySettings: ("tf_frame_prefix", "odom_frame_id", "base_frame_id"),
    PlannerSettings: ("tf_frame_prefix",),
    SimulatorSettings: ("tf_frame_prefix",),
    ImuDriverSettings: ("tf_frame_prefix",),
    TeleopSettings: ("frame",),
}


@pytest.mark.parametrize("text", BAD_PREFIXES)
def test_every_parameter_and_launch_argument_that_becomes_a_frame_is_refused_in_one_sentence(text):
    for kind, names in FRAMED.items():
        frames = [row for row in table(kind) if "frame" in row.name]
        assert {row.name for row in frames} == set(names)
        for row in frames:
            with pytest.raises(ParameterError, match=rf"^{row.name}: frame .*must be parts of ") as refusal:
                row.value(text)
            assert str(refusal.value).isprintable() and len(str(refusal.value)) < 300
    for graph in node_graph.GRAPHS:
        if "tf_frame_prefix" in {argument.name for argument in node_graph.arguments(graph)}:
            with pytest.raises(node_graph.GraphError, match=r"^frame prefix .*must be parts of "):
                node_graph.specs(graph, {"tf_frame_prefix": text})
    with pytest.raises(node_graph.GraphError, match=r"^frame prefix "):
        nav2_graph.plan({"tf_frame_prefix": text, "slam": "true"})
    with pytest.raises(node_graph.GraphError, match=r"^frame "):
        node_graph.specs("display", {"fixed_frame": text})


@pytest.mark.parametrize("names", [{"odom_frame_id": "base_footprint"}, {"base_frame_id": "base_link"}])
def test_the_frames_of_the_odometry_are_three(names):
    with pytest.raises(ParameterError, match=" must be three different frames"):
        build(OdometrySettings, {row.name: row.default for row in table(OdometrySettings)} | names)


@given(st.one_of(st.integers(-1000, 1000).map(str), st.text(max_size=4)))
def test_a_domain_id_is_a_number_with_valid_ports(text):
    valid = text == "" or (text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= MAX_DOMAIN)
    assert accepted(lambda value: check_domain({"ROS_DOMAIN_ID": value}), text) == valid


@pytest.mark.parametrize(("chosen", "usable"), [("rmw_b_cpp", True), ("", True), ("rmw_c_cpp", False), ("rmw", False)])
def test_a_middleware_is_one_that_is_installed(tmp_path, chosen, usable):
    index = tmp_path / INSTALLED_MIDDLEWARE
    index.mkdir(parents=True)
    for name in ("rmw_b_cpp", "rmw_implementation"):
        (index / name).touch()
    environment = {"RMW_IMPLEMENTATION": chosen, "AMENT_PREFIX_PATH": f"/nowhere:{tmp_path}"}
    assert accepted(lambda given: check_middleware(given), environment) == usable


def test_without_an_index_of_middlewares_any_is_left_to_rclpy(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    check_middleware({"RMW_IMPLEMENTATION": "rmw_c_cpp", "AMENT_PREFIX_PATH": ""})


def test_every_launch_file_refuses_an_unknown_middleware(monkeypatch):
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_nope_cpp")
    for graph in node_graph.GRAPHS:
        with pytest.raises(
            node_graph.GraphError, match=r"^RMW_IMPLEMENTATION is 'rmw_nope_cpp', which is not installed"
        ):
            node_graph.specs(graph, {})
    with pytest.raises(node_graph.GraphError, match=r"^RMW_IMPLEMENTATION is "):
        nav2_graph.plan({"slam": "true"})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-r", "__ns:=/9abc"], "namespace '/9abc' must be"),
        (["-r", "__ns:=abc"], "must begin with a single /"),
        (["-r", "gait_planner:__node:=a b"], "node name 'a b' must be"),
        (["--remap", "cmd_vel:=a//b"], "topic 'a//b' must be"),
        (["-r", "cmd_vel"], "must be FROM:=TO"),
        (["-r", "a b:=c"], "remap 'a b:=c' must be FROM:=TO"),
        (["-r", ":=c"], "remap ':=c' must be FROM:=TO"),
        (["-r", "__ns:="], "must begin with a single /"),
        (["-p", "gait"], "parameter 'gait' must be NAME:=VALUE"),
        (["-p", "a b:=1"], "parameter 'a b:=1' must be NAME:=VALUE"),
        (["-e", "left"], "enclave 'left' must begin with a /"),
        (["--params-file", "/nowhere.yaml"], "/nowhere.yaml: there is no such file"),
        (["--params-file", "/dev/zero"], "/dev/zero: cannot be read: it is a pipe or a device"),
    ],
)
def test_arguments_that_ros_cannot_use_are_refused(words, message):
    with pytest.raises(RosNameError, match=message):
        check_arguments(["--ros-args", "-p", "gait:=wave", *words])


def test_usual_arguments_are_accepted(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**: {}\n")
    rules = ["-r", "__ns:=/a/b", "-r", "__node:=planner", "-r", "cmd_vel:=/nav_vel", "-r", "~/a:=b"]
    check_arguments(["--ros-args", *rules, "--params-file", str(file), "-p", "robot:=phantomx"])


@pytest.mark.parametrize("text", BAD_NAMESPACES)
@pytest.mark.parametrize(
    "command", [["play", "wave"], ["play", "--stop"], ["gamepad"], ["sim"], ["record"], ["replay", "a"]]
)
def test_every_command_refuses_a_bad_namespace_in_one_line(capsys, command, text):
    assert main([*command, "--namespace", text]) == 2
    error = capsys.readouterr().err
    assert error.startswith("hexapod: namespace ") and error.count("\n") == 1


@pytest.mark.parametrize("text", BAD_NAMESPACES)
def test_every_launch_file_refuses_a_bad_namespace(text):
    for graph in node_graph.GRAPHS.keys() - {node_graph.GAZEBO}:  # which has none
        with pytest.raises(node_graph.GraphError, match=r"^namespace "):
            node_graph.specs(graph, {"namespace": text})
    with pytest.raises(node_graph.GraphError, match=r"^namespace "):
        nav2_graph.plan({"namespace": text, "slam": "true"})


def test_a_parameter_file_that_cannot_be_read_is_refused_before_anything_starts(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(node_graph.GraphError, match=r"pipe\.yaml: cannot be read: it is a pipe"):
        node_graph.specs("sim", {"params_file": str(tmp_path / "pipe.yaml")})


def test_a_command_refuses_an_unknown_domain_in_one_line(monkeypatch, capsys):
    monkeypatch.setenv("ROS_DOMAIN_ID", "500")
    assert main(["gamepad"]) == 2
    error = capsys.readouterr().err
    assert "ROS_DOMAIN_ID is '500', must be a whole number from 0 to 232; unset it for 0" in error
    assert error.count("\n") == 1


@pytest.mark.process
@pytest.mark.parametrize("program", [NODE, [*HEXAPOD, "play", "wave"], [*HEXAPOD, "sim"]])
def test_an_unknown_middleware_is_one_sentence_and_exit_code_2(program):
    ended, took = ended_with(program, RMW_IMPLEMENTATION="rmw_nope_cpp")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "RMW_IMPLEMENTATION is 'rmw_nope_cpp', which is not installed: unset it, or set it to rmw_" in ended.stderr
    assert took < LONGEST_S


def ended_with(program, **environment):
    """A program that has ended by itself, and how long it took [s]."""
    start = time.monotonic()
    ended = subprocess.run(
        program, env={**os.environ, **environment}, capture_output=True, text=True, timeout=20.0, check=False
    )
    return ended, time.monotonic() - start


@pytest.mark.process
@pytest.mark.parametrize(
    ("program", "domain", "message"),
    [
        ([*NODE, "--ros-args", "-r", "__ns:=/9abc"], "0", "namespace '/9abc' must be"),
        ([*NODE, "--ros-args", "-p", "robot:=PIPE"], "0", "pipe.yaml: cannot be read: it is a pipe"),
        ([*NODE], "abc", "ROS_DOMAIN_ID is 'abc', must be"),
    ],
)
def test_programs_end_with_exit_code_2_and_one_sentence(tmp_path, program, domain, message):
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    ended, took = ended_with([word.replace("PIPE", str(pipe)) for word in program], ROS_DOMAIN_ID=domain)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert message in ended.stderr
    assert took < LONGEST_S


@pytest.mark.parametrize("keystore", ["", "/nowhere", "{tmp_path}"])
def test_security_without_a_keystore_is_refused_with_the_remedy(tmp_path, keystore):
    secure = {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_KEYSTORE": keystore.format(tmp_path=tmp_path)}
    with pytest.raises(RosNameError, match=r"ROS_SECURITY_ENABLE is true, but ROS_SECURITY_KEYSTORE is .*create_keyst"):
        check_security(secure)
    (tmp_path / "enclaves").mkdir()
    check_security(secure | {"ROS_SECURITY_KEYSTORE": str(tmp_path)})
    check_security({"ROS_SECURITY_ENABLE": "false"})


@pytest.mark.process
@pytest.mark.parametrize("command", [NODE, [*HEXAPOD, "status"]], ids=["node", "command"])
def test_an_error_of_ros_at_the_start_is_one_sentence_and_a_home_that_cannot_be_written_is_none(command, tmp_path):
    (tmp_path / "enclaves").mkdir()
    secure = {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_STRATEGY": "Enforce", "ROS_SECURITY_KEYSTORE": str(tmp_path)}
    env = {**os.environ, **secure, "HOME": "/proc/nowhere"}
    found = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30.0, check=False)
    *_, last = found.stderr.splitlines()
    assert found.returncode == 2 and "Traceback" not in found.stderr
    assert last.removeprefix("hexapod: ").startswith("ROS does not start: ")
    assert last.endswith(": check the keystore, or unset ROS_SECURITY_ENABLE")
