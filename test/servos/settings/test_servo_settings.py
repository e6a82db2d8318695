# SPDX-License-Identifier: Apache-2.0
"""The robot file's section `servos`: invalid values are refused with location and remedy, before any torque."""

import math
import re
from pathlib import Path

import pytest
from support.phantomx import robot

from hexapod_control.config.errors import ArgumentError, RobotFileError
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.settings.servo_section import (
    Battery,
    OnExit,
    OnLost,
    OnSilence,
    section_lines,
    servo_settings,
    standard,
)

PHANTOMX = Path(resolve("phantomx")).read_text()
TOP = """\
servos:
  protocol: feetech_st
  port: /dev/serial/by-id/usb-bus
"""


def joints(**changes):
    """The section `joints`, a line per servo; `changes` by <leg>_<joint> replace a servo's text."""
    lines, number = ["  joints:"], 0
    for leg in robot().leg_names:
        lines.append(f"    {leg}:")
        for name in JOINTS:
            number += 1
            center = {"coxa": 0, "femur": 15, "tibia": -77.5}[name]
            usual = f"{{id: {number}, direction: 1, q_center_deg: {center}}}"
            text = changes.get(f"{leg}_{name}", usual)
            if text:
                lines.append(f"      {name}: {text}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def read(tmp_path):
    def read(section, **given):
        path = tmp_path / "robot.yaml"
        path.write_text(f"{PHANTOMX}\n{section}")
        return servo_settings(load(path), **given)

    return read


def test_a_complete_section_is_read_in_the_order_of_the_joints(read):
    settings = read(
        TOP
        + "  baud: 500000\n  rate: 40\n  on_lost: sit\n  on_silence: off\n  on_exit: hold\n"
        + "  battery: {warn: 10.5, critical: 9.9}\n"
        + joints(left_front_femur="{id: 30, direction: -1, center: 2000, q_center_deg: 15, trim_deg: 2, high: 4000}")
    )
    assert (settings.protocol, settings.port, settings.baud) == ("feetech_st", "/dev/serial/by-id/usb-bus", 500000)
    assert (settings.rate, settings.on_lost, settings.on_silence) == (40.0, OnLost.SIT, OnSilence.OFF)
    assert settings.on_exit is OnExit.HOLD
    assert settings.battery == Battery(10.5, 9.9, 2.0)
    assert settings.ids == (1, 30, *range(3, 19))
    femur = settings.joints[1]
    assert (femur.joint, femur.direction, femur.center) == ("left_front_femur_joint", -1, 2000.0)
    assert (femur.q_center, femur.trim) == pytest.approx((math.radians(15), math.radians(2)))
    assert femur.units_per_rad == femur.units_per_rad_neg == pytest.approx(651.9, rel=1e-5)
    assert (femur.low, femur.high) == (0, 4000)


def test_a_robot_without_the_section_has_the_loopback_bus():
    settings = servo_settings(load("phantomx"))
    assert settings.protocol == "loopback"
    assert len(set(settings.ids)) == 18


def test_options_of_the_protocol_are_kept(read):
    assert read(TOP + "  options: {acceleration: 50}\n" + joints()).options == (("acceleration", 50),)


def test_an_explicit_port_overrides_the_file_and_another_protocol_has_standard_servos(read):
    section = TOP + joints(left_front_coxa="{id: 40, direction: -1}")
    assert read(section, port="/dev/ttyUSB7").port == "/dev/ttyUSB7"
    assert read(section, port="/dev/ttyUSB7").ids[0] == 40
    other = read(section, protocol="dynamixel1", port="/dev/ttyUSB7")
    assert (other.protocol, other.ids) == ("dynamixel1", tuple(range(1, 19)))
    with pytest.raises(ArgumentError, match=r"port.*must be given with dynamixel1"):
        read(section, protocol="dynamixel1")
    assert read(section, protocol="loopback").port == ""


WRONG = {
    "a missing protocol": ("servos:\n  port: /dev/x\n", "servos.protocol: is missing, must be one of"),
    "an unknown protocol": ("servos:\n  protocol: feetech_stt\n", "did you mean feetech_st?"),
    "a protocol that is no text": ("servos:\n  protocol: 3\n", "servos.protocol: is 3"),
    "a protocol that is not supported": (
        "servos:\n  protocol: xl320\n",
        "XL-320 servos have other registers and units",
    ),
    "a missing port": ("servos:\n  protocol: feetech_st\n", "servos.port: is missing"),
    "an empty port": ("servos:\n  protocol: feetech_st\n  port:\n" + joints(), "servos.port: is empty"),
    "a section that is a list": ("servos: [1]\n", "servos: is [1], must be a section"),
    "an unknown key": (TOP + "  bauds: 9600\n" + joints(), "servos.bauds: is unknown"),
    "a baud that is a text": (TOP + '  baud: "1M"\n' + joints(), "servos.baud"),
    "a baud of nothing": (TOP + "  baud: 0\n" + joints(), "must be in [1200, 4500000] bit/s, is 0"),
    "a rate that is not a number": (TOP + "  rate: .nan\n" + joints(), "servos.rate: must be in [5, 500] Hz, is nan"),
    "a policy that is none": (TOP + "  on_lost: relax\n" + joints(), "must be one of leg, hold, sit, off"),
    "half a battery": (TOP + "  battery: {warn: 10}\n" + joints(), "servos.battery.critical: is missing"),
    "a swapped battery": (TOP + "  battery: {warn: 9, critical: 10}\n" + joints(), "are the two swapped?"),
    "an equal battery": (TOP + "  battery: {warn: 10, critical: 10}\n" + joints(), "must be above critical"),
    "a battery of 0 V": (
        TOP + "  battery: {warn: 10, critical: 0}\n" + joints(),
        "battery.critical: must be in [1, 100]",
    ),
    "an option of another protocol": (TOP + "  options: {battery: A}\n" + joints(), "options.battery: is unknown"),
    "an option that is a list": (
        TOP + "  options: {acceleration: [1]}\n" + joints(),
        "acceleration: must be in [0, 254], is [1]",
    ),
    "an option out of bounds": (TOP + "  options: {acceleration: 255}\n" + joints(), "must be in [0, 254], is 255"),
    "half a register": (TOP + "  options: {acceleration: 1.5}\n" + joints(), "is 1.5, write a whole number"),
    "an option that is a truth": (
        TOP + "  options: {acceleration: true}\n" + joints(),
        "must be in [0, 254], is true",
    ),
    "options that are a text": (TOP + "  options: fast\n" + joints(), 'options: is "fast", must be a section'),
    "options of a protocol without any": (
        TOP.replace("feetech_st", "lx16a") + "  options: {read: fast}\n" + joints(),
        "options: is unknown, this protocol has no options",
    ),
    "a word that is none": (
        TOP.replace("feetech_st", "dynamixel2") + "  options: {read: fats}\n" + joints(),
        'options.read: is "fats", must be one of sync, fast, did you mean fast?',
    ),
    "a number for a word": (
        TOP.replace("feetech_st", "maestro") + "  options: {crc: 1}\n" + joints(),
        "options.crc: is 1, must be one of true, false",
    ),
    "no joints": (TOP, "servos.joints: is missing"),
    "a missing leg": (TOP + joints().split("    right_rear:")[0], "servos.joints.right_rear: is missing"),
    "a missing joint": (TOP + joints(left_rear_tibia=""), "servos.joints.left_rear.tibia: is missing"),
    "an unknown leg": (TOP + joints() + "    tail: {}\n", "servos.joints.tail: is unknown"),
    "a missing id": (TOP + joints(left_front_coxa="{direction: 1}"), "left_front.coxa.id: is missing"),
    "an id of NaN": (
        TOP + joints(left_front_coxa="{id: .nan, direction: 1}"),
        "id: must be in [0, 253], is nan",
    ),
    "half an id": (TOP + joints(left_front_coxa="{id: 1.5, direction: 1}"), "is 1.5, write a whole number"),
    "a duplicate id": (
        TOP + joints(right_rear_coxa="{id: 4, direction: 1}"),
        "right_rear.coxa.id: is 4, which servos.joints.left_middle.coxa (line",
    ),
    "a direction of 0": (TOP + joints(left_front_coxa="{id: 1, direction: 0}"), "must be 1 or -1"),
    "swapped raw limits": (
        TOP + joints(left_front_coxa="{id: 1, direction: 1, low: 3000, high: 1000}"),
        "must satisfy low < center < high",
    ),
    "a raw limit no servo has": (
        TOP + joints(left_front_coxa="{id: 1, direction: 1, high: 5000}"),
        "is 5000, but the servo's range is 0 to 4095",
    ),
    "a joint limit out of reach": (
        TOP + joints(left_front_coxa="{id: 1, direction: 1, high: 2500}"),
        "cannot reach the joint's upper limit 75.0 deg",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_bad_servo_section_is_refused_with_file_line_key_and_remedy(read, wrong):
    section, words = WRONG[wrong]
    with pytest.raises(RobotFileError) as caught:
        read(section)
    text = str(caught.value)
    assert words in text
    assert "robot.yaml:" in text
    assert "servos" in text
    assert "\n" not in text


def test_a_file_with_the_required_keys_only_has_the_documented_defaults(read):
    settings = read(TOP + joints())
    assert (settings.rate, settings.lost_after, settings.max_temperature) == (50.0, 0.5, 70.0)
    assert (settings.silence_time, settings.baud, settings.options) == (10.0, 1_000_000, ())
    assert (settings.on_lost, settings.on_silence, settings.on_exit) == (OnLost.LEG, OnSilence.HOLD, OnExit.SIT)
    assert settings.battery == Battery(-math.inf, -math.inf, 2.0)
    for joint in settings.joints:
        assert (joint.center, joint.trim, joint.low, joint.high) == (2048.0, 0.0, 0, 4095)


DEFAULTS = [
    line for line in section_lines() if re.fullmatch(r"[\d.]+", line.default) or line.default in line.bound.split(", ")
]


def section_with(key, text):
    """A section with this text after the required keys of the place of a key."""
    if key.startswith("battery."):
        return TOP + f"  battery: {{warn: 10.5, critical: 9.9{text}}}\n" + joints()
    if key.startswith("joints."):
        return TOP + joints(left_front_coxa=f"{{id: 1, direction: 1{text}}}")
    return TOP + joints() + text.replace(", ", "  ") + "\n"


@pytest.mark.parametrize("line", DEFAULTS, ids=lambda line: line.key)
def test_writing_the_default_of_the_reference_changes_nothing(read, line):
    written = f", {line.key.rpartition('.')[2]}: {line.default}"
    assert read(section_with(line.key, written)) == read(section_with(line.key, ""))


BOUNDS = {  # minimum and maximum accepted value
    "baud": (1200, 4_500_000),
    "rate": (5, 500),
    "lost_after": (0.05, 10),
    "max_temperature": (30, 120),
    "silence_time": (0.2, 3600),
}


@pytest.mark.parametrize("key", BOUNDS)
def test_a_number_is_taken_up_to_its_bounds_and_refused_beyond_them(read, key):
    least, most = BOUNDS[key]
    for value in (least, most):
        assert getattr(read(TOP + f"  {key}: {value}\n" + joints()), key) == value
    for value in (least * 0.99, most * 1.01):
        with pytest.raises(RobotFileError, match=rf"servos\.{key}: must be in"):
            read(TOP + f"  {key}: {round(value) if key == 'baud' else value}\n" + joints())


@pytest.mark.parametrize(
    ("key", "least", "most"),
    [
        ("id", 0, 253),
        ("trim_deg", -2, 2),
        ("units_per_rad", 600, 700),
        ("units_per_rad_neg", 600, 700),
        ("center", 2040, 2056),
        ("low", 0, 10),
        ("high", 4080, 4095),
    ],
)
def test_every_key_of_a_servo_reaches_its_calibration(read, key, least, most):
    for value in (least, most):
        text = f"{{id: 100, direction: 1, {key}: {value}}}" if key != "id" else f"{{id: {value}, direction: 1}}"
        section = TOP + joints(left_front_coxa=text)
        joint = read(section).joints[0]
        found = {"trim_deg": math.degrees(joint.trim)}.get(key, getattr(joint, key.removesuffix("_deg")))
        assert found == pytest.approx(value)
        if key == "units_per_rad":
            assert joint.units_per_rad_neg == joint.units_per_rad
        else:
            assert joint.units_per_rad == pytest.approx(4096 / math.tau)


@pytest.mark.parametrize("name", ["xl320", "XL-320", "herkulex", "DRS-0101"])
def test_common_unsupported_servos_are_refused_by_name(name):
    with pytest.raises(ArgumentError, match=f'protocol: is "{name}".*and no protocol here'):
        standard(robot(), name, "/dev/ttyUSB0")
