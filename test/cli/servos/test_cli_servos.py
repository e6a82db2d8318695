# SPDX-License-Identifier: Apache-2.0
"""`hexapod servos`: scan, ping, watch, another id, one joint moved, over an emulated bus."""

import os
import signal
import subprocess
import sys

import pytest
from support.phantomx import mistaken_file
from support.real_time.programs import HEXAPOD, until

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.servos.emulated_robot import robot_emulator
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.save_servo_section import save
from hexapod_control.servos.settings.servo_section import servo_settings


def servos(emulation, *arguments, protocol="feetech_st"):
    return main(["servos", "--protocol", protocol, "--port", emulation.pty.path, "--pace", "10", *arguments])


def switch(emulation, text):
    robot_emulator.parse_fault(text).act(emulation)


def test_a_scan_lists_servos_that_answer_and_those_that_are_missing(wire, capsys):
    wire = wire()
    assert servos(wire, "scan", "--ids", "1-18") == 0
    assert "STS3215" in (output := capsys.readouterr().out) and "right_rear_tibia" in output and "18 servos\n" in output
    switch(wire, "unplug=5")
    assert servos(wire, "scan", "--ids", "1-18") == 1
    assert "17 servos; missing: left_middle_femur (id 5)" in capsys.readouterr().out


def test_a_scan_reports_an_id_that_two_servos_seem_to_share(wire, capsys):
    wire = wire()
    switch(wire, "twin=5")
    switch(wire, "unplug=6")
    assert servos(wire, "scan", "--ids", "1-18") == 1
    output = capsys.readouterr().out
    assert "16 servos; missing: left_middle_tibia (id 6); corrupt replies, probably two servos have this id: " in output
    assert "left_middle_femur (id 5); connect only one, set its id" in output


def test_a_ping_reports_servos_that_do_not_answer(wire, capsys):
    wire = wire()
    assert servos(wire, "ping", "3") == 0
    assert servos(wire, "ping", "3", "40") == 1
    assert "40                         no answer" in capsys.readouterr().out


def test_the_table_shows_the_readings_of_the_servos(wire, capsys):
    wire = wire()
    switch(wire, "unplug=5")
    switch(wire, "heat=6")
    assert servos(wire, "watch", "--count", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 40
    assert lines[5].split() == ["left_middle_femur", "5", "-"]
    assert lines[6].endswith("90  heat")
    assert lines[19].startswith("17 of 18 answer, 0 bad frames")


def test_one_joint_is_moved_and_its_torque_switched_off(wire, capsys):
    wire = wire()
    assert servos(wire, "move", "left_front", "coxa", "20") == 0
    assert "left_front_coxa_joint (id 1) is at 20.0 deg" in capsys.readouterr().out
    until(lambda: not wire.world.torques.any(), "torque off")
    assert servos(wire, "move", "left_front", "coxa", "10", "--hold") == 0
    until(lambda: wire.world.torques.sum() == 1, "torque on")
    assert servos(wire, "off") == 0
    until(lambda: not wire.world.torques.any(), "torque off")


@pytest.mark.process
def test_a_move_that_is_interrupted_stops_where_it_is_and_the_torque_goes_off(wire):
    wire = wire()
    begin = wire.world.position(0)
    words = [
        "servos",
        "--protocol",
        "feetech_st",
        "--port",
        wire.pty.path,
        "move",
        "left_front",
        "coxa",
        "60",
        "--hold",
    ]
    process = subprocess.Popen([*HEXAPOD, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: abs(wire.world.position(0) - begin) > 50, "a moving servo", 20.0)
    process.send_signal(signal.SIGINT)
    until(lambda: not wire.world.has_torque(0), "torque off", 0.5)
    where = wire.world.position(0)
    _, errors = process.communicate(timeout=10.0)
    assert (process.returncode, errors) == (128 + signal.SIGINT, "stopped, torque is off\n")
    assert wire.world.position(0) == pytest.approx(where, abs=3)
    assert abs(where - begin) < 500  # of 682


def test_a_servo_gets_another_id_only_when_it_is_alone(wire, capsys):
    wire = wire()
    assert servos(wire, "set-id", "3", "40") == 2
    assert "connect only the servo with id 3, these answer: 1, 2, 3" in capsys.readouterr().err
    wire.world.unplug(*(k for k in range(18) if k != 2))
    assert servos(wire, "set-id", "3", "3") == 2
    assert servos(wire, "set-id", "3", "40") == 0
    assert servos(wire, "ping", "40") == 0


def test_hobby_servos_are_moved_from_the_lying_pose(wire, capsys):
    wire = wire("ssc32")
    assert servos(wire, "move", "left_front", "coxa", "20", protocol="ssc32") == 0
    assert "was sent to 20.0 deg" in capsys.readouterr().out
    assert servos(wire, "watch", "--count", "1", protocol="ssc32") == 0
    assert "raw is the last goal" in capsys.readouterr().out
    assert servos(wire, "set-id", "3", "4", protocol="ssc32") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protocol", "feetech_st", "--port", "/dev/none", "scan"], "there is no such port"),
        (["--protocol", "feetech_st", "scan"], "hexapod: --port: must be given with feetech_st, which"),
        (["scan"], "--port: must be given, the robot file names none"),
        (["watch"], "--protocol: must be given"),
        (["--port", "BUS", "scan", "--protocols", "xl320"], "no protocol here controls them"),
        (["--port", "BUS", "scan", "--bauds", "12"], "--bauds: must be in [1200, 4500000] bit/s"),
        (["--protocol", "feetech_st", "--port", "BUS", "scan", "--ids", "a-b"], "--ids: must be like 1-30"),
        (
            ["--protocol", "feetech_st", "--port", "BUS", "move", "middle", "coxa", "1"],
            "LEG: must be one of left_front",
        ),
        (["--protocol", "feetech_st", "--port", "BUS", "move", "left_front", "coxa", "99"], "DEGREES: must be in"),
        (["--pace", "99", "scan"], "--pace: must be in [0.1, 50], is 99"),
        (["--baud", "12", "scan"], "--baud: must be in [1200, 4500000] bit/s, is 12"),
        (["ping", "1000"], "ID: must be in [0, 253], is 1000"),
        (["watch", "--count", "-1"], "--count: must be in [0, 1000000], is -1"),
        (
            ["--protocol", "dynamixel1", "--port", "BUS", "--baud", "57600", "watch"],
            "nothing answers to dynamixel1 at 57600",
        ),
    ],
)
def test_bad_input_is_reported_in_one_line_with_the_remedy(arguments, message, wire, capsys):
    emulation = wire()
    assert main(["servos", *(emulation.pty.path if argument == "BUS" else argument for argument in arguments)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not emulation.world.torques.any()


@pytest.mark.parametrize(
    "arguments",
    [["scan", "--ids", "1-3"], ["move", "left_front", "coxa", "5"], ["off"], ["watch"], ["set-id", "3", "4"]],
)
def test_servos_of_another_protocol_are_named_and_nothing_is_written(arguments, wire, capsys):
    emulation = wire()
    emulation.world.unplug(*(k for k in range(18) if k != 2))  # set-id needs a single servo on the bus
    before = [bytes(memory[:56]) for memory in emulation.pty.device.memories]
    assert servos(emulation, *arguments, protocol="dynamixel1") == 2
    error = capsys.readouterr().err
    assert "servo 3 answers like a Feetech STS3215: use protocol feetech_st" in error and error.count("\n") == 1
    assert [bytes(memory[:56]) for memory in emulation.pty.device.memories] == before


def test_another_model_is_used_with_a_warning_if_forced(wire, capsys):
    emulation = wire("dynamixel1")
    emulation.pty.device.memories[0][0] = 29
    assert servos(emulation, "move", "left_front", "coxa", "5", protocol="dynamixel1") == 2
    assert "servo 1 answers like a Robotis MX-28" in capsys.readouterr().err
    assert servos(emulation, "--force-model", "move", "left_front", "coxa", "5", protocol="dynamixel1") == 0
    assert "--force-model: used although servo 1 answers like a Robotis MX-28" in capsys.readouterr().err


def test_a_bus_without_answers_is_reported_with_the_remedy(wire, capsys):
    emulation = wire()
    switch(emulation, "mute")
    assert servos(emulation, "watch") == 2
    assert "no servo answers at 1000000 baud: check the servos' power supply" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["calibrate"], ["servos", "scan"]])
def test_commands_that_use_the_servos_warn_once_of_an_implausible_value(command, tmp_path, capsys):
    path, absent = mistaken_file(tmp_path / "robot.yaml"), str(tmp_path / "absent")
    name, *action = command
    assert main([name, "--robot", str(path), "--protocol", "feetech_st", "--port", absent, *action]) == 2
    warning, refusal = capsys.readouterr().err.splitlines()
    assert warning.startswith(f"hexapod: implausible: {path}:49: leg.servo.stall_torque: is 15.3, ")
    assert absent in refusal


def test_a_scan_without_a_protocol_finds_it_and_names_the_next_command(wire, capsys):
    emulation = wire()
    assert main(["servos", "--port", emulation.pty.path, "scan", "--ids", "0-3", "--bauds", "1000000"]) == 0
    output = capsys.readouterr().out
    assert "at 1000000 baud, protocol feetech_st: 3 servos (STS3215), ids 1-3" in output
    assert f"next: hexapod servos --protocol feetech_st --baud 1000000 --port {emulation.pty.path} scan" in output


def test_a_calibration_with_two_servos_of_one_id_is_refused_with_the_remedy(wire, tmp_path, capsys):
    emulation = wire()
    switch(emulation, "twin=5")
    path = tmp_path / "mine.yaml"
    path.write_text(resolve("phantomx").read_text())
    words = ["--robot", str(path), "--protocol", "feetech_st", "--port", emulation.pty.path]
    assert main(["calibrate", *words]) == 2
    reason = "several servos answer at once to id 5: give each its own id, one after the other"
    assert reason in capsys.readouterr().err


def test_new_servos_with_one_id_are_recognised_and_the_command_that_helps_is_named(wire, capsys):
    emulation = wire()
    switch(emulation, "new")
    assert servos(emulation, "scan", "--ids", "1-18") == 2
    error = capsys.readouterr().err
    assert "several servos answer at once to id 1 as new servos do: give each its own id" in error
    assert "hexapod servos set-id" in error


@pytest.mark.parametrize(
    ("answer", "mounts", "code"),
    [
        (["left middle femur -", "y"], {"femur": (5, -1), "tibia": (6, 1)}, 0),
        (["LM TIBIA +", ""], {"femur": (6, 1), "tibia": (5, 1)}, 0),  # the two joints exchange their servos
        (["lm femur +"], {"femur": (5, 1), "tibia": (6, 1)}, 0),
        (["?", "quit"], {"femur": (5, 1), "tibia": (6, 1)}, 1),
    ],
)
def test_one_servo_is_identified_and_the_robot_file_corrected(answer, mounts, code, wire, tmp_path, monkeypatch):
    emulation = wire()
    path = tmp_path / "mine.yaml"
    path.write_text(resolve("phantomx").read_text())
    save(load(path), servo_settings(load(path), "feetech_st", emulation.pty.path), PROTOCOLS["feetech_st"].scale)
    reader, writer = os.pipe()
    os.write(writer, "".join(f"{line}\n" for line in answer).encode())
    os.close(writer)
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(["servos", "--robot", str(path), "--pace", "50", "identify", "5"]) == code
    found = {joint.joint: (joint.id, joint.direction) for joint in servo_settings(load(path)).joints}
    assert {name: found[f"left_middle_{name}_joint"] for name in mounts} == mounts
    until(lambda: not emulation.world.torques.any(), "torque off")
