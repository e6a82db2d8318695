# SPDX-License-Identifier: Apache-2.0
"""Devices that answer in another than the chosen protocol are named with it; nothing is written."""

import re
import time

import pytest
from support.phantomx import robot

from hexapod_control.servos.bus.bus_interface import BusError, NoAnswerError
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.line_search import find_other_protocol, with_findings
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK, standard

LONGEST_S = 2.0
CHOSEN = {"dynamixel1": "lx16a", "feetech_sc": "lx16a"}  # the others are asked for with `dynamixel1`
NAMES = {
    "feetech_st": "servo 1 answers like a Feetech STS3215",
    "feetech_sc": "servo 1 answers like a Feetech SCS0009",
    "dynamixel1": "servo 1 answers like a Robotis AX-12A",
    "dynamixel2": "servo 1 answers like a Robotis XL430-W250",
    "lx16a": "servo 1 answers like an LX-16A or similar",
    "servo2040": "the port answers like a Servo2040",
    "ssc32": "the port answers like an SSC-32",
    "maestro": "the port answers like a Pololu Maestro",
}
SERIAL = [name for name, row in PROTOCOLS.items() if name != LOOPBACK and row.connect is SerialPort]


class Rig:
    """Emulated servos of a protocol that are searched with another one."""

    def __init__(self, protocol, baud=0):
        row = PROTOCOLS[protocol]
        chosen = CHOSEN.get(protocol, "dynamixel1")
        settings = standard(robot(), chosen, "/dev/none")
        self.world = LagWorld(row.scale, len(settings.ids))
        ids = range(18) if protocol in ("servo2040", "ssc32", "maestro") else settings.ids
        self.pty = PseudoTerminal(emulated_device(protocol, self.world, ids), baud or row.baud)
        self.settings = standard(robot(), chosen, self.pty.path)
        self.asked = chosen, self.pty.path, self.settings.baud, self.settings.ids
        self.goals = list(self.world.goals)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pty.close()


@pytest.mark.waits
@pytest.mark.parametrize("protocol", SERIAL)
def test_servos_and_boards_of_every_other_protocol_are_named_and_nothing_is_written(protocol):
    with Rig(protocol) as rig:
        begin = time.monotonic()
        text = with_findings(NoAnswerError("no servo answers"), *rig.asked)
        assert time.monotonic() - begin < LONGEST_S
        name = NAMES.get(protocol, "(servo|the port) .*")
        found = name.replace("servo 1 ", "servo [1-9] ")  # on a loaded machine one may answer too late
        assert re.match(rf"{found}: use protocol {protocol} at ", text), text
        assert f"; nothing answers to {rig.settings.protocol} at " in text
        assert not rig.world.torques.any()
        assert list(rig.world.goals) == rig.goals


@pytest.mark.waits
def test_a_silent_port_costs_less_than_two_seconds_and_the_error_stays_as_it_is():
    with Rig("feetech_st") as rig:
        rig.pty.faults.mute = True
        begin = time.monotonic()
        assert find_other_protocol(*rig.asked) == ""
        assert time.monotonic() - begin < LONGEST_S
        assert with_findings(BusError("two servos with one id"), *rig.asked) == "two servos with one id"
