# SPDX-License-Identifier: Apache-2.0
"""Options of a protocol in the robot file reach its bus with the right value."""

import math
from dataclasses import replace

import pytest
from support.phantomx import narrow_file, robot

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import with_section
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.emulator.devices.servo2040_device import Servo2040Device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.servo2040 import Servo2040Dialect
from hexapod_control.servos.settings.save_servo_section import entry, save, section
from hexapod_control.servos.settings.servo_section import servo_settings, standard

OPTIONS = [(row.name, option.key) for row in PROTOCOLS.values() for option in row.settings]
GOOD = {  # value in the file, value that the bus gets
    ("feetech_st", "acceleration"): (50, 50),
    ("feetech_sc", "degrees"): (180, 180.0),
    ("dynamixel2", "read"): ("fast", "fast"),
    ("servo2040", "dialect"): ("fork", Servo2040Dialect.FORK),
    ("ssc32", "battery"): ("B", "B"),
    ("ssc32", "divider"): (3, 3.0),
    ("maestro", "device"): (12, 12),
    ("maestro", "crc"): (True, True),
    ("pca9685", "addresses"): ([0x40, 0x60], (0x40, 0x60)),
    ("pca9685", "oscillator"): (25.7, (25.7,)),
    ("pca9685", "frequency"): (100, 100.0),
}


@pytest.fixture
def with_options(tmp_path):
    """The settings of a robot file with these options."""

    def make(protocol, options, port="/dev/none"):
        path = narrow_file(tmp_path / "robot.yaml")
        file = load(path)
        data = section(file, servo_settings(file, protocol, port), PROTOCOLS[protocol].scale)
        for joint in (joint for leg in data["joints"].values() for joint in leg.values()):
            for key in ("units_per_rad", "units_per_rad_neg"):
                joint.pop(key, None)
        path.write_text(with_section(path.read_text(), "servos", {**data, "options": options}))
        return servo_settings(load(path))

    return make


def test_every_option_in_the_table_is_one_that_its_bus_takes():
    assert set(GOOD) == set(OPTIONS)
    for protocol, key in OPTIONS:
        assert key in PROTOCOLS[protocol].options


@pytest.mark.parametrize(("protocol", "key"), OPTIONS)
def test_an_option_comes_out_of_the_file_as_its_bus_takes_it(protocol, key, with_options):
    given, meant = GOOD[protocol, key]
    ((name, value),) = with_options(protocol, {key: given}).options
    assert (name, value, type(value)) == (key, meant, type(meant))


def test_the_range_of_a_model_sets_the_units_of_joints_without_their_own(with_options):
    usual = with_options("feetech_sc", {}).joints[0].units_per_rad
    assert with_options("feetech_sc", {"degrees": 200}).joints[0].units_per_rad == pytest.approx(1.5 * usual, rel=1e-3)


@pytest.fixture
def board(tmp_path):
    """An emulated Servo2040 and a function that opens it by a robot file's options."""
    made = []

    def make(settings, dialect):
        row = PROTOCOLS["servo2040"]
        device = Servo2040Device(LagWorld(row.scale, 18), settings.ids, dialect=dialect)
        made.append(PseudoTerminal(device, settings.baud, link=tmp_path / "bus"))
        made.append(row.open(SerialPort(settings.port, settings.baud), settings.ids, **dict(settings.options)))
        return made[-1]

    yield make
    for each in reversed(made):
        each.close()


@pytest.mark.parametrize("dialect", list(Servo2040Dialect))
def test_a_board_whose_dialect_is_in_the_file_is_not_asked_for_it(dialect, with_options, board, tmp_path):
    bus = board(with_options("servo2040", {"dialect": dialect.value}, str(tmp_path / "bus")), dialect)
    assert f"{dialect.value} firmware" in bus.identify()[0]
    assert bus.supply()[0] == pytest.approx(11.1, abs=0.1)


def test_a_dialect_that_the_board_does_not_use_is_refused_with_a_remedy(with_options, board, tmp_path):
    bus = board(with_options("servo2040", {"dialect": "fork"}, str(tmp_path / "bus")), Servo2040Dialect.ORIGINAL)
    with pytest.raises(BusError, match=r"its dialect is not fork: remove options\.dialect"):
        bus.identify()


def test_addresses_may_be_hexadecimal_and_keep_that_when_the_section_is_written_again(with_options, tmp_path):
    with_options("pca9685", {"addresses": [0x40, 0x41]})
    path = tmp_path / "robot.yaml"
    path.write_text(path.read_text().replace("[64, 65]", "[0x40, 0x5F]"))
    found = servo_settings(load(path))
    assert dict(found.options) == {"addresses": (0x40, 0x5F)}
    save(load(path), found, PROTOCOLS["pca9685"].scale)
    assert "addresses: [0x40, 0x5F]" in path.read_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0x40, 0x40], "is 64 again, must differ from the others"),
        ([0x40, 0x41, 0x42, 0x43, 0x44], "has 5 values"),
        ([0x30], r"must be in \[64, 119\], is 48"),
        ([0x40, 64.5], "is 64.5, write a whole number"),
    ],
)
def test_addresses_that_no_boards_can_have_are_refused(with_options, given, words):
    with pytest.raises(RobotFileError, match=words):
        with_options("pca9685", {"addresses": given})


def test_numbers_of_a_joint_are_saved_with_their_fraction_and_without_one_as_whole_numbers():
    joint, scale = standard(robot(), "feetech_st", "/dev/none").joints[0], PROTOCOLS["feetech_st"].scale
    usual = {"id": 1, "direction": 1, "center": 2048, "q_center_deg": 0}
    found = entry(joint, scale)
    assert found == usual and all(isinstance(value, int) for value in found.values())
    changed = replace(joint, center=2047.53, q_center=math.radians(-12.346), trim=math.radians(1.5), low=100, offset=-7)
    more = {"center": 2047.5, "q_center_deg": -12.35, "trim_deg": 1.5, "low": 100, "offset": -7}
    assert entry(changed, scale) == usual | more
    changed = replace(joint, units_per_rad=700.04, units_per_rad_neg=600.26, high=4000)
    assert entry(changed, scale) == usual | {"units_per_rad": 700, "units_per_rad_neg": 600.3, "high": 4000}
