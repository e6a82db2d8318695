# SPDX-License-Identifier: Apache-2.0
"""Keys of a robot file that have no effect with its servos and sensors are named, with the remedy."""

from pathlib import Path

import pytest
from support.phantomx import robot

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.bus.bus_interface import ServoQuantity
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import section_lines
from hexapod_control.servos.settings.unused_settings import RULES, unused_settings

PHANTOMX = Path(resolve("phantomx")).read_text()
BATTERY = "  battery: {warn: 10.5, critical: 9.9}\n"
LEGS = robot().leg_names
FEET = f"  feet: {{chip: gpio, pins: {{{', '.join(f'{leg}: {row}' for row, leg in enumerate(LEGS))}}}}}\n"


def _file(folder, protocol, more="", io=""):
    ids = PROTOCOLS[protocol].ids
    first = max(ids.start, 1) if ids.stop > 32 else ids.start
    names = [(leg, name) for leg in LEGS for name in JOINTS]
    joints = ""
    for number, (leg, name) in enumerate(names):
        center = {"coxa": 0, "femur": 15, "tibia": -77.5}[name]
        joints += f"    {leg}:\n" if name == JOINTS[0] else ""
        joints += f"      {name}: {{id: {first + number}, direction: 1, q_center_deg: {center}}}\n"
    path = folder / "robot.yaml"
    section = f"servos:\n  protocol: {protocol}\n  port: /dev/x\n{more}  joints:\n{joints}"
    path.write_text(f"{PHANTOMX}\n{section}" + (f"io:\n{io}" if io else ""))
    return load(str(path))


def _keys(file):
    return [text.split(": ", 1)[1].split(" has no effect")[0] for text in unused_settings(file)]


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if ServoQuantity.POSITION in PROTOCOLS[name].can_read])
def test_limits_that_nothing_measures_are_named_with_every_protocol(tmp_path, protocol):
    more = f"  max_temperature: 60\n  baud: 500000\n  lost_after: 0.4\n  on_lost: sit\n{BATTERY}"
    keys = set(_keys(_file(tmp_path, protocol, more)))
    can_read = PROTOCOLS[protocol].can_read
    assert ("servos.battery" in keys) == (ServoQuantity.VOLTAGE not in can_read)
    assert ("servos.max_temperature" in keys) == (ServoQuantity.TEMPERATURE not in can_read)
    wired = {"servos.port", "servos.baud", "servos.lost_after", "servos.on_lost"}
    assert keys & wired == (wired if protocol == "loopback" else set())


def test_a_sensor_of_the_supply_gives_the_limits_of_the_battery_an_effect(tmp_path):
    assert "servos.battery" not in _keys(_file(tmp_path, "loopback", BATTERY, "  battery: {chip: ina219}\n"))


def test_keys_of_sensors_that_are_not_on_i2c_are_named(tmp_path):
    io = "  bus: /dev/i2c-1\n" + FEET.replace("gpio,", "gpio, address: 0x20,")
    assert _keys(_file(tmp_path, "feetech_st", "", io)) == ["io.bus", "io.feet.address"]
    io = "  bus: /dev/i2c-1\n" + FEET.replace("gpio,", "mcp23017, device: /dev/gpiochip0,")
    assert _keys(_file(tmp_path, "feetech_st", "", io)) == ["io.feet.device"]


def test_every_rule_is_about_a_key_of_the_file():
    known = {f"servos.{line.key}" for line in section_lines()}
    assert {key for key in RULES if key.startswith("servos.")} <= known | {"servos.battery"}


@pytest.mark.parametrize("path", sorted(Path(share("config")).rglob("*.yaml")), ids=lambda path: path.stem)
def test_no_file_that_comes_with_the_package_has_a_key_without_effect(path):
    if "\nservos:" in path.read_text():
        assert list(unused_settings(load(str(path)))) == []
