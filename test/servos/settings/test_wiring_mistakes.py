# SPDX-License-Identifier: Apache-2.0
"""Of mistakes in the sections `servos` and `io` that a file shows, each is named at its key; correct ones are not."""

import copy
import json

import pytest

from hexapod_control.config.document import plain, read
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.plausibility.check_values import located_errors
from hexapod_control.config.robots.robot_file import implausible, known_robots, load, resolve
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.save_servo_section import section
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.servos.settings.wiring_rules import DOUBTS, wiring_findings

WIRED = {  # protocol and battery [V] of shipped robots whose files have no servos
    "phantomx": ("dynamixel1", 10.5, 9.9),
    "big_hex": ("lx16a", 7.0, 6.6),
    "scratch": ("pca9685", 6.8, 6.4),
    "chica": ("servo2040", 6.8, 6.4),
    "heavy": ("dynamixel2", 10.8, 10.2),
}
SERVOS = "servos.joints.left_middle"


def wired(name, tmp_path):
    """The data of a shipped robot with servos, mirrored on the right, and sensors."""
    data = plain(read(resolve(name)))
    if "servos" in data:
        return data
    protocol, warn, critical = WIRED[name]
    port = "/dev/i2c-1" if protocol == "pca9685" else "/dev/ttyUSB0"
    file = load(name)
    servos = section(file, servo_settings(file, protocol, port), PROTOCOLS[protocol].scale)
    for leg, joints in servos["joints"].items():
        for joint in ("femur", "tibia"):
            joints[joint]["direction"] = -1 if leg.startswith("right") else 1
    options = {"options": {"addresses": [0x40, 0x41]}} if protocol == "pca9685" else {}
    data["servos"] = {**servos, **options, "battery": {"warn": warn, "critical": critical}}
    data["io"] = {
        "bus": "/dev/i2c-1",
        "imu": {"chip": "mpu6050", "mounting_deg": [0, 0, 90]},
        "battery": {"chip": "ads1115", "divider": 5.0},
        "feet": {"chip": "gpio", "pins": {leg: pin for pin, leg in enumerate(data["legs"], 5)}},
    }
    return data


def named(data, path):
    """Lines that `hexapod check` prints as wrong or as a note, or the refusal."""
    path.write_text(json.dumps(data))
    try:
        file = load(path)
        found = implausible(file, wiring_findings(file))
        return [f"wrong {each}" for each in found] + [
            f"note {each}" for each in located_errors(file.document, wiring_findings(file, DOUBTS))
        ]
    except RobotFileError as error:
        return [f"refused {error}"]


def put(key, change):
    def apply(data):
        *above, last = key.split(".")
        for name in above:
            data = data.setdefault(name, {})
        data[last] = change(data.get(last)) if callable(change) else change

    return apply


def every_servo(**changes):
    return lambda data: [servo.update(changes) for leg in data["servos"]["joints"].values() for servo in leg.values()]


def exchanged(data):
    leg = data["servos"]["joints"]["left_middle"]
    leg["coxa"]["id"], leg["femur"]["id"] = leg["femur"]["id"], leg["coxa"]["id"]


def legs_exchanged(data):
    legs = data["servos"]["joints"]
    legs["left_front"], legs["right_front"] = legs["right_front"], legs["left_front"]


MISTAKES = {  # robot, mistake, beginning and parts of the line
    "units per degree": ("phantomx", every_servo(units_per_rad=3.41), ("wrong", "units_per_rad: is 3.41", "195")),
    "one scale of another servo": (
        "big_hex",
        put(f"{SERVOS}.femur.units_per_rad", 652),
        ("refused", "check units_per_rad, with 238.7"),
    ),
    "an id beyond the boards": (
        "scratch",
        put("servos.options.addresses", [0x40]),
        ("wrong", ".id: is 16", "1 boards"),
    ),
    "thresholds of one cell": (
        "phantomx",
        put("servos.battery", {"warn": 3.5, "critical": 3.3}),
        ("wrong", "battery.warn: is 3.5", "10.5 V for 3 cells"),
    ),
    "thresholds of three cells": ("big_hex", put("servos.protocol", "dynamixel1"), ("wrong", "its protocol is lx16a")),
    "a divider upside down": ("scratch", put("io.battery.divider", 0.2), ("wrong", "upside down? 5")),
    "a divider too small": ("scratch", put("io.battery.divider", 1.0), ("wrong", "up to 4.1 V")),
    "a hobby servo on a bus": ("phantomx", put("leg.servo.model", "MG996R"), ("wrong",)),
    "a trim of 30 deg": ("phantomx", put(f"{SERVOS}.coxa.trim_deg", 30), ("wrong", "trim_deg: is 30", "horn")),
    "a center of another leg": ("phantomx", put(f"{SERVOS}.coxa.center", 700), ("wrong", "center: is 700")),
    "an angle at the center": ("phantomx", put(f"{SERVOS}.femur.q_center_deg", -15), ("wrong", "q_center_deg: is -15")),
    "a wrong center": (
        "big_hex",
        put(f"{SERVOS}.tibia.q_center_deg", 77.5),
        ("refused", "check q_center_deg, with -7"),
    ),
    "a missing zero": ("phantomx", put("servos.baud", 100000), ("wrong", "servos.baud: is 100000", "1000000")),
    "a rate too slow": ("phantomx", put("servos.baud", 9600), ("wrong", "18 servos at 50 Hz")),
    "a serial port": ("scratch", put("servos.port", "/dev/ttyUSB0"), ("wrong", "pca9685 is on an I2C bus")),
    "seconds as milliseconds": ("phantomx", put("servos.lost_after", 5), ("wrong", "lost_after: is 5")),
    "a decimal address": ("scratch", put("io.imu.address", 68), ("wrong", "looks like hexadecimal: 0x68")),
    "radians": ("scratch", put("io.imu.mounting_deg", [0, 0, 1.5708]), ("wrong", "looks like radians: [0, 0, 90]")),
    "a pin of I2C": ("scratch", put("io.feet.pins.left_front", 2), ("wrong", "GPIO 2 is that of the I2C bus")),
    "a pin of the header": ("scratch", put("io.feet.pins.left_front", 31), ("wrong", "pins.left_front: is 31")),
    "milliohms": ("phantomx", put("io.battery", {"chip": "ina219", "shunt": 10}), ("wrong", "battery.shunt: is 10")),
    "12 V for a servo of 6 V": ("scratch", put("leg.servo.voltage", 12.0), ("refused", "voltage")),
    "a tilt of one leg": ("phantomx", put("legs.left_front.tilt_deg", [20, 0]), ("wrong", "tilt_deg: is [20, 0]")),
    "a direction": ("freenove", put(f"{SERVOS}.femur.direction", 1), ("note", "left_middle.femur.direction: is 1")),
    "exchanged ids": ("freenove", exchanged, ("note", "left_middle: has ids 20, 19, 21")),
    "an id with a digit more": ("phantomx", put(f"{SERVOS}.coxa.id", 40), ("note", "coxa.id: is 40", "is it 4?")),
    "the servos of two legs exchanged": (
        "phantomx",
        legs_exchanged,
        ("note", "left_front: has ids 10, 11, 12", "exchanged with right_front?"),
    ),
    "the scale of one servo": ("chica", put(f"{SERVOS}.femur.units_per_rad", 430), ("wrong", "units_per_rad: is 430")),
    "an angle at the center in radians": (
        "heavy",
        lambda data: [leg["tibia"].update(q_center_deg=-1.35) for leg in data["servos"]["joints"].values()],
        ("wrong", "q_center_deg: is -1.35", "looks like radians: -77 deg"),
    ),
    "a camera as a port": ("phantomx", put("servos.port", "/dev/video0"), ("wrong", "port: is /dev/video0")),
    "pulses of a digital servo": ("freenove", put("servos.options.frequency", 330), ("wrong", "MG996R takes 50")),
    "the address of all boards": ("scratch", put("servos.options.addresses", [0x40, 0x70]), ("wrong", "has 0x70")),
    "reversed boards": ("scratch", put("servos.options.addresses", [0x41, 0x40]), ("note", "reversed")),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_that_the_file_shows_is_named(what, tmp_path):
    robot, change, (kind, *parts) = MISTAKES[what]
    data = copy.deepcopy(wired(robot, tmp_path))
    change(data)
    lines = named(data, tmp_path / "robot.yaml")
    assert any(line.startswith(kind) and all(part in line for part in parts) for line in lines), lines


@pytest.mark.parametrize("robot", WIRED)
def test_a_robot_with_correct_servos_and_sensors_has_no_finding(robot, tmp_path):
    assert named(wired(robot, tmp_path), tmp_path / "robot.yaml") == []


@pytest.mark.parametrize("robot", known_robots())
def test_the_servos_of_a_shipped_robot_have_no_finding_that_its_file_does_not_confirm(robot):
    file = load(robot)
    assert implausible(file, wiring_findings(file)) == ()
    assert {each.key for each in wiring_findings(file, DOUBTS)} <= set(file.confirmed)
