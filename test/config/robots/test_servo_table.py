# SPDX-License-Identifier: Apache-2.0
"""The servo table: its rows are sound, and a robot file that names a model and a voltage needs no figures."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.servo_table import CatalogServo, ServoFigures, nearest_models, servo_table, versions
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.shipped_files import share
from hexapod_control.servos.protocol_registry import PROTOCOLS

PHANTOMX = share("config", "robots", "phantomx.yaml").read_text()
SERVO = re.compile(r"  servo:.*\n(    .*\n)+")
JOINTS = re.compile(r"  joints:.*\n(    .*\n)+")
WANTED = {
    "SG90",
    "MG90S",
    "MG996R",
    "DS3218",
    "LX-16A",
    "LX-224",
    "HTS-35H",
    "AX-12A",
    "AX-18A",
    "MX-28",
    "MX-64",
    "XL-320",
    "XL330-M077",
    "XL330-M288",
    "XL430-W250",
    "XC330-M288",
    "XM430-W350",
    "STS3215",
    "STS3032",
    "SCS15",
    "SCS0009",
    "SC09",
    "RDS3225",
    "HS-485HB",
    "HS-645MG",
    "DRS-0101",
}
WITHOUT_DRIVER = {"pwm", "herkulex", "xl320"}


@pytest.mark.parametrize("servo", servo_table(), ids=lambda servo: f"{servo.model} {servo.voltage[1]:g} V")
def test_the_figures_of_a_servo_are_physically_possible(servo: CatalogServo) -> None:
    assert servo.protocol in {*PROTOCOLS, *WITHOUT_DRIVER}
    assert servo.figures and all(servo.permits(each.voltage) for each in servo.figures)
    for slow, fast in zip(servo.figures, servo.figures[1:], strict=False):
        assert slow.voltage < fast.voltage
        assert slow.no_load_speed < fast.no_load_speed
        assert slow.stall_torque < fast.stall_torque
    for figures in servo.figures:
        power = figures.no_load_speed * figures.stall_torque / 4.0  # [W] the most that a DC motor gives
        assert 5.0 < power / servo.mass < 300.0  # [W/kg] of a geared motor of this size
    assert 0.0 < servo.resolution < 1.0 and 120.0 <= servo.turn <= 360.0 and servo.source


def test_the_table_has_the_common_servos() -> None:
    assert len({servo.model for servo in servo_table()}) >= 25
    assert {model for model in WANTED if not versions(model)} == set()


def test_figures_are_interpolated_between_listed_supplies_and_proportional_beyond() -> None:
    (xl430,), (ax12a,) = versions("XL430-W250"), versions("AX-12A")
    low, high = xl430.at(9.0), xl430.at(11.1)
    assert xl430.at(10.05) == pytest.approx([(a + b) / 2 for a, b in zip(low, high, strict=True)])
    assert ax12a.at(12.0) == ServoFigures(12.0, 6.178, 1.5)
    assert ax12a.at(9.0) == pytest.approx((9.0, 6.178 * 0.75, 1.5 * 0.75))


def with_servo(text: str, path: Path, *, joints: bool = True) -> Path:
    """Phantomx with another section `servo`, and without joint limits if they are not wanted."""
    changed, count = SERVO.subn(f"  servo: {{{text}}}\n", PHANTOMX)
    assert count == 1
    path.write_text(changed if joints else JOINTS.sub("", changed, count=1))
    return path


def test_model_and_voltage_suffice_and_explicit_keys_override_the_table(tmp_path: Path) -> None:
    file = load(with_servo("model: AX-12A, voltage: 11.1, stall_torque: 1.2", tmp_path / "robot.yaml", joints=False))
    (servo,) = versions("AX-12A")
    for leg in file.robot.legs:
        for joint in leg.joints:
            assert joint.no_load_speed == servo.at(11.1).no_load_speed
            assert (joint.stall_torque, joint.stiffness) == (1.2, servo.stiffness(11.1))
            assert (joint.lower, joint.upper) == pytest.approx((-math.radians(150.0), math.radians(150.0)))
    assert (file.servo_model, file.servo_source) == ("AX-12A", servo.source)
    limits = [limit.attrib for limit in ET.fromstring(urdf(file)).iter("limit")]
    assert len(limits) == 18
    for limit in limits:
        assert (float(limit["effort"]), float(limit["velocity"])) == (1.2, servo.at(11.1).no_load_speed)
        assert float(limit["upper"]) == pytest.approx(math.radians(150.0))


def test_a_leg_with_its_own_model_takes_no_figures_of_the_common_one(tmp_path: Path) -> None:
    path = with_servo("model: AX-12A, voltage: 11.1, stall_torque: 1.2", tmp_path / "robot.yaml")
    text = path.read_text().replace("left_rear: {hip", "left_rear: {servo: {model: AX-18A}, hip")
    path.write_text(text)
    torques = [leg.coxa_joint.stall_torque for leg in load(path).robot.legs]
    assert torques == pytest.approx([1.2, 1.2, 1.8 * 11.1 / 12.0, 1.2, 1.2, 1.2])


def test_the_version_of_a_servo_follows_from_its_voltage(tmp_path: Path) -> None:
    torque = {}
    for voltage in (7.4, 12.0):
        file = load(with_servo(f"model: STS3215, voltage: {voltage}", tmp_path / "robot.yaml"))
        torque[voltage] = file.robot.legs[0].coxa_joint.stall_torque
    assert torque == pytest.approx({7.4: 1.912, 12.0: 2.942})


REFUSED = {
    "model: AX-12": ('leg.servo.model: is "AX-12", must be a servo', "did you mean AX-12A"),
    "model: xl430, voltage: 12": ('leg.servo.model: is "xl430"', "XL430-W250"),
    "model: AX-12A": ("leg.servo.voltage: is missing, must be in [3, 30] V", "every key is required"),
    "model: AX-12A, voltage: 14.8": (
        "leg.servo.voltage: is 14.8, must be 9 to 12 V for AX-12A",
        "the supply of the servos under load",
    ),
    "model: STS3215, voltage: 8.7": ("must be 4 to 8.4 V or 9 to 12.6 V for STS3215", "servo.voltage"),
    "model: AX-12A, voltage: 11.1 V": (
        'leg.servo.voltage: must be in [3, 30] V, is "11.1 V"',
        "write the number alone, no unit",
    ),
}


@pytest.mark.parametrize("servo", REFUSED)
def test_a_servo_that_cannot_be_looked_up_is_refused_with_the_remedy(servo: str, tmp_path: Path) -> None:
    path = with_servo(servo, tmp_path / "robot.yaml")
    with pytest.raises(RobotFileError) as refused:
        load(path)
    line = path.read_text()[: path.read_text().index("  servo:")].count("\n") + 1
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert all(part in str(refused.value) for part in REFUSED[servo]), refused.value


def test_a_servo_missing_from_the_table_may_have_explicit_figures(tmp_path: Path) -> None:
    own = "model: home made, no_load_speed: 5.0, stall_torque: 2.0, stiffness: 20.0, source: measured"
    assert load(with_servo(own, tmp_path / "robot.yaml")).servo_model == "home made"
    with pytest.raises(RobotFileError, match=r"leg: is missing|leg\.joints\.coxa\.lower_deg: is missing"):
        load(with_servo(own, tmp_path / "robot.yaml", joints=False))


@pytest.mark.parametrize(
    ("name", "near"), [("AX12", "AX-12A"), ("mg996", "MG996R"), ("xm430", "XM430-W350"), ("LX16", "LX-16A")]
)
def test_names_written_differently_find_the_servo(name: str, near: str) -> None:
    assert near in nearest_models(name)
