# SPDX-License-Identifier: Apache-2.0
"""`hexapod emulate`: emulated servos behind a link that a driver uses like real ones, and faults by name."""

import os
import signal
import subprocess
import sys

import pytest
from support.real_time.programs import PROGRAM, read_line

from hexapod_control.cli.main import main
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.emulated_robot import robot_emulator
from hexapod_control.servos.protocol_registry import PROTOCOLS

MAX_WAIT_S = 20.0
IDS = tuple(range(1, 19))


@pytest.fixture
def emulation(wire):
    return wire("feetech_st")


@pytest.mark.parametrize("name", robot_emulator.KINDS)
def test_every_fault_of_the_table_can_be_injected(name, wire):
    values = {"SHARE": "0.5", "HEX": "FF", "MS": "3", "ID": "4", "VOLTS": "7.4", "ADDRESS": "0x40", "": ""}
    values["JOINT,DEG"] = "lf coxa,10"
    value = values[robot_emulator.KINDS[name].value]
    order = robot_emulator.parse_fault(f"{name}={value}@1.5" if value else f"{name}@1.5")
    assert (order.name, order.after) == (name, 1.5)
    order.act(wire("feetech_st" if name == "new" else "pca9685"))


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
        output = [read_line(process) for _ in range(4)]
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
