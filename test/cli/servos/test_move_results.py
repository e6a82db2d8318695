# SPDX-License-Identifier: Apache-2.0
"""`hexapod servos` says what happened to the servos, not what was sent to them."""

import contextlib
import os
import pty
import signal
import subprocess

import pytest
from support.real_time.programs import HEXAPOD, until

from hexapod_control.cli.main import main
from hexapod_control.cli.servos.servos import TelemetryScreen
from hexapod_control.servos.bus.bus_interface import ServoQuantity
from hexapod_control.servos.emulated_robot import robot_emulator
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import WIRED

REPORTING = [name for name in WIRED if PROTOCOLS[name].can_read & ServoQuantity.POSITION]
MOVE = ("move", "left_front", "coxa", "20")


def servos(emulation, protocol, *words):
    return main(["servos", "--protocol", protocol, "--port", emulation.pty.path, "--pace", "20", *words])


def overload(emulation):
    robot_emulator.parse_fault(f"overload={emulation.ids[0]}").act(emulation)


def block(emulation):
    """The joint has torque and cannot move."""
    goal = emulation.world.goal
    emulation.world.goal = lambda index, raw, duration: index or goal(index, emulation.world.position(0), duration)


def refuse(emulation):
    """The servo ignores every order to switch its torque on."""
    torque = emulation.world.torque
    emulation.world.torque = lambda index, on: torque(index, on and index != 0)


def fall_silent(emulation):
    """The servo answers until its torque is switched on."""
    torque = emulation.world.torque
    emulation.world.torque = lambda index, on: torque(index, on) or (on and emulation.world.unplug(index))


def stay_on(emulation):
    """The servo ignores every order to switch its torque off."""
    torque = emulation.world.torque
    emulation.world.torque = lambda index, on: torque(index, on or index == 0)


@pytest.mark.parametrize("protocol", REPORTING)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (overload, "left_front_coxa (id 1) "),
        (block, "left_front_coxa (id 1) did not get there, it is at "),
        (refuse, "left_front_coxa (id 1) has switched itself off or refuses its torque, it is at "),
        (fall_silent, "does not answer|no longer answers"),
        (stay_on, "left_front_coxa (id 1) still has torque: "),
    ],
)
def test_a_move_that_has_not_happened_ends_with_code_one_and_what_to_do(protocol, fault, reason, wire, capsys):
    emulation = wire(protocol)
    fault(emulation)
    assert servos(emulation, protocol, *MOVE) == 1
    output = capsys.readouterr()
    assert any(part in output.err for part in reason.split("|")), output.err
    assert "is at 20.0 deg" not in output.out or fault is stay_on


@pytest.mark.parametrize("protocol", REPORTING)
def test_torque_that_is_not_off_is_reported_and_so_are_servos_that_do_not_answer(protocol, wire, capsys):
    emulation = wire(protocol)
    if protocol == "feetech_st":
        robot_emulator.parse_fault("unplug=2").act(emulation)
        assert servos(emulation, protocol, "off") == 1
        assert "left_front_femur (id 2) does not answer, so that its torque is unknown" in capsys.readouterr().err
    emulation.world.torque(0, True)
    stay_on(emulation)
    assert servos(emulation, protocol, "off") == 1
    error = capsys.readouterr().err
    assert "left_front_coxa (id 1) still has torque" in error and "switch the power of the servos off" in error


def test_a_table_without_an_answer_at_its_end_fails(wire, capsys, monkeypatch):
    emulation = wire("feetech_st")
    show = TelemetryScreen.show
    monkeypatch.setattr(
        TelemetryScreen, "show", lambda screen, lines: show(screen, lines) or emulation.world.power(5.0)
    )
    assert servos(emulation, "feetech_st", "watch", "--count", "2") == 1
    assert "no servo answered in the end: check their power and cables" in capsys.readouterr().err


def test_an_id_that_the_servo_does_not_take_fails(wire, capsys):
    emulation = wire("feetech_st")
    emulation.world.unplug(*range(1, 18))
    emulation.pty.device.rename = lambda index, servo: None
    receive = emulation.pty.device.receive
    emulation.pty.device.receive = lambda data, now: [] if b"\x05\x28" in data else receive(data, now)
    assert servos(emulation, "feetech_st", "set-id", "1", "40") == 1
    assert "the servo with id 1 did not accept id 40" in capsys.readouterr().err


@pytest.mark.parametrize("degrees", ["nan", "1e308", "", "12,5", "12 deg", "20us", "+20"])
def test_an_angle_that_is_not_clear_moves_nothing(degrees, wire, capsys):
    emulation = wire("feetech_st")
    begin = emulation.world.positions.copy()
    assert servos(emulation, "feetech_st", "move", "left_front", "coxa", degrees) == 2
    error = capsys.readouterr().err
    assert "must be in [-360, 360] deg" in error or "not a distance: write it without +" in error
    assert (emulation.world.positions == begin).all() and not emulation.world.torques.any()


@pytest.mark.process
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1), (signal.SIGHUP, 129)])
def test_in_a_terminal_a_far_move_is_confirmed_first(answer, code, wire):
    emulation = wire("feetech_st")
    screen, keys = pty.openpty()
    words = [*HEXAPOD, "servos", "--protocol", "feetech_st", "--port", emulation.pty.path, "--pace", "20", *MOVE]
    process = subprocess.Popen(words, stdin=keys, stdout=keys, stderr=keys)
    os.close(keys)
    os.set_blocking(screen, False)
    text = b""

    def read():
        nonlocal text
        with contextlib.suppress(OSError):
            text += os.read(screen, 4096)
        return text.decode()

    until(lambda: "deg? [y/N] " in read(), "the question", 20.0)
    assert "Move left_front_coxa from 2048 to 2276 tick, by 20 deg? [y/N] " in read()
    assert not emulation.world.torques.any()
    if isinstance(answer, str):
        os.write(screen, f"{answer}\n".encode())
    else:
        process.send_signal(answer)
    until(lambda: (read(), process.poll())[1] is not None, "the end", 20.0)
    os.close(screen)
    assert process.returncode == code, text
    until(lambda: not emulation.world.torques.any(), "torque off")


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "number", "sentence"),
    [
        (["identify", "5"], signal.SIGTERM, "ended: nothing was saved, torque is off"),
        (["set-id"], signal.SIGHUP, "ended: the ids that were reported so far are stored in the servos"),
    ],
)
def test_a_signal_at_a_question_ends_it_with_one_sentence(words, number, sentence, wire):
    emulation = wire("feetech_st")
    emulation.world.unplug(*(index for index in range(18) if index != 4))
    command = [*HEXAPOD, "servos", "--protocol", "feetech_st", "--port", emulation.pty.path, "--pace", "20", *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.set_blocking(process.stdout.fileno(), False)
    text = b""

    def asked():
        nonlocal text
        text += process.stdout.read() or b""
        return text.endswith((b"first? [left_middle femur +] ", b"Press Enter when it is connected "))

    try:
        until(asked, "the question", 20.0)
        process.send_signal(number)
        _, errors = process.communicate(timeout=10.0)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert errors.decode().strip() == sentence
    until(lambda: not emulation.world.torques.any(), "torque off")
