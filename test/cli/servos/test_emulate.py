# SPDX-License-Identifier: Apache-2.0
"""`hexapod emulate`: emulated servos behind a link that a driver uses like real ones, and faults by name."""

import os
import signal
import subprocess
import sys

import pytest
from support.real_time.programs import PROGRAM, read_line

from hexapod_control.cli.main import main
from hexapod_control.servos.bus.bus_interface import PortGoneError, ServoFault, ServoQuantity
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.emulated_robot import robot_emulator
from hexapod_control.servos.protocol_registry import PROTOCOLS

MAX_WAIT_S = 20.0
IDS = tuple(range(1, 19))


@pytest.fixture
def emulation(wire):
    return wire("feetech_st")


@pytest.fixture
def bus(emulation):
    row = PROTOCOLS["feetech_st"]
    opened = row.open(SerialPort(emulation.pty.path, row.baud), IDS, wait=ReplyTiming(margin=0.05))
    yield opened
    opened.close()


def switch(emulation, *texts):
    for text in texts:
        robot_emulator.parse_fault(text).act(emulation)


@pytest.mark.parametrize("text", ["glue", "split", "echo", "noise=FF00FF", "slow=2", "double=1"])
def test_the_driver_survives_a_noisy_line(emulation, bus, text):
    switch(emulation, text)
    seen = set()
    for _ in range(4):
        seen |= set(bus.read(IDS, ServoQuantity.POSITION))
    assert len(seen) >= 17  # the fault `glue` delays the last reply


@pytest.mark.parametrize("text", ["drop=0.5", "flip=0.5", "truncate=0.5"])
def test_lost_bytes_affect_only_the_replies_they_belong_to(emulation, bus, text):
    true = {i: round(emulation.world.position(k)) for k, i in enumerate(IDS)}
    switch(emulation, text)
    answers = bus.read(IDS, ServoQuantity.POSITION)
    assert 0 < len(answers) < 18
    assert all(answers[i].position == true[i] for i in answers)


def test_servos_disappear_come_back_and_report_their_faults(emulation, bus):
    switch(emulation, "unplug=5", "overload=7", "heat=8")
    answers = bus.read(IDS, ServoQuantity.POSITION | ServoQuantity.TEMPERATURE | ServoQuantity.FAULT)
    assert set(IDS) - set(answers) == {5}
    assert ServoFault.OVERLOAD in answers[7].fault and ServoFault.HEAT in answers[8].fault
    assert answers[8].temperature == robot_emulator.HOT_TEMPERATURE
    switch(emulation, "power=5")
    assert not bus.read(IDS, ServoQuantity.POSITION)
    switch(emulation, "well")
    answers = bus.read(IDS, ServoQuantity.POSITION | ServoQuantity.FAULT)
    assert set(answers) == set(IDS)
    assert all(answer.fault is ServoFault.NONE for answer in answers.values())


def test_the_port_comes_back_under_the_same_name_after_the_cable_was_pulled(emulation, bus):
    switch(emulation, "hangup")
    with pytest.raises(PortGoneError):
        bus.read(IDS, ServoQuantity.POSITION)
    switch(emulation, "comeback")
    row = PROTOCOLS["feetech_st"]
    again = row.open(SerialPort(emulation.pty.path, row.baud), IDS, wait=ReplyTiming(margin=0.05))
    assert len(again.read(IDS, ServoQuantity.POSITION)) == 18
    again.close()


@pytest.mark.parametrize("name", robot_emulator.KINDS)
def test_every_fault_of_the_table_can_be_injected(name, wire):
    values = {"SHARE": "0.5", "HEX": "FF", "MS": "3", "ID": "4", "VOLTS": "7.4", "ADDRESS": "0x40", "": ""}
    values["JOINT,DEG"] = "lf coxa,10"
    value = values[robot_emulator.KINDS[name].value]
    order = robot_emulator.parse_fault(f"{name}={value}@1.5" if value else f"{name}@1.5")
    assert (order.name, order.after) == (name, 1.5)
    order.act(wire("feetech_st" if name == "new" else "pca9685"))


@pytest.mark.parametrize("text", ["nack=0x40", "stuck"])
def test_a_fault_of_an_i2c_bus_is_refused_on_another_one(emulation, text):
    with pytest.raises(ValueError, match="use protocol pca9685"):
        robot_emulator.parse_fault(text).act(emulation)


@pytest.mark.parametrize("text", ["drip=1", "drop", "echo=1", "drop=1@soon", "drop=1@-2"])
def test_an_invalid_fault_is_refused(text):
    with pytest.raises(ValueError, match=r"drip|needs|takes|seconds"):
        robot_emulator.parse_fault(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protocol", "feetech_s"], 'hexapod: --protocol: is "feetech_s", must be one of feetech_st, '),
        (["--protocol", "feetech_s"], "did you mean feetech_st?"),
        ([], "--protocol: must be given"),
        (["--protocol", "feetech_st", "--baud", "12"], "--baud: must be in [1200, 4500000] bit/s"),
        (["--protocol", "feetech_st", "--fault", "unplug=99"], "must be the id of a servo, one of 1 to 18"),
        (["--protocol", "feetech_st", "--fault", "drop=2"], "drop: must be in [0, 1]"),
    ],
)
def test_bad_input_is_reported_in_one_line_with_the_remedy(arguments, message, tmp_path, capsys):
    link = tmp_path / "bus"
    assert main(["emulate", "--link", str(link), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not link.is_symlink()


def test_the_link_never_replaces_a_file(tmp_path, capsys):
    file = tmp_path / "precious"
    file.write_text("mine")
    assert main(["emulate", "--protocol", "feetech_st", "--link", str(file)]) == 2
    assert file.read_text() == "mine"
    assert main(["emulate", "--protocol", "feetech_st", "--link", str(tmp_path / "none" / "bus")]) == 2


@pytest.mark.process
def test_the_command_serves_a_driver_injects_faults_and_ends_with_ctrl_c(tmp_path):
    link = tmp_path / "bus"
    arguments = ["--protocol", "feetech_st", "--link", str(link), "--fault", "unplug=3"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "emulate", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        output = [read_line(process) for _ in range(3)]
        assert f"servo_protocol:=feetech_st servo_port:={link}" in output[1]
        row = PROTOCOLS["feetech_st"]
        bus = row.open(SerialPort(str(link), row.baud), IDS, wait=ReplyTiming(margin=0.1))
        assert set(IDS) - set(bus.identify()) == {3}
        process.stdin.write("plug=3\nunplug=4\n")
        process.stdin.flush()
        assert [read_line(process) for _ in range(2)] == ["plug=3\n", "unplug=4\n"]
        assert set(IDS) - set(bus.identify()) == {4}
        bus.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(MAX_WAIT_S) == 0
        assert not os.path.lexists(link)
    finally:
        process.kill()
        process.communicate(timeout=MAX_WAIT_S)
