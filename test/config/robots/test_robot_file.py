# SPDX-License-Identifier: Apache-2.0
"""Robot files: valid ones load; invalid ones are refused with file, line, key, value, bound and remedy."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from support.drives import GAIT_NAMES

from hexapod_control.config import shipped_files
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import known_robots, load, resolve
from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.leg_kinematics import inverse
from hexapod_control.core.names import STANDARD

PHANTOMX = share("config", "robots", "phantomx.yaml").read_text()
MISSING = "every key is required"
ALONE = "write the number alone"
METRES = "metres, not millimetres?"
KILOGRAMS = "kilograms, not grams?"
LENGTH = "must be in [0.001, 1] m"
LEG_KEYS = "hip, yaw_deg, foothold, tilt_deg, coxa, femur, tibia, joints, servo"
MODEL = "must be a text, the servo's name"
ANGLE = "must be in [-360, 360] deg"

# Text of phantomx.yaml, what it is replaced by, and the message: the key, then the violation. The line is
# that of the replacement, or of the section that lacks a key.
BAD = {
    "missing": ("    length: 0.066 ", "    # ", "leg.femur.length: is missing", LENGTH, MISSING),
    "missing in a leg": ("yaw_deg: 45.0, ", "", "legs.left_front.yaw_deg: is missing", ANGLE, MISSING),
    "unknown": (
        "lateral_offset: 0.0 ",
        "lateral_ofset: 0.0 ",
        "leg.femur.lateral_ofset: is unknown",
        "known here: length, mass, radius, lateral_offset, vertical_offset",
        "did you mean lateral_offset?",
    ),
    "unknown without likeness": (
        "mass: 1.08 ",
        "colour: red ",
        "body.colour: is unknown",
        "known here: size, center, mass, center_of_mass",
        "remove it",
    ),
    "unknown in a leg": (
        "{hip: [0.1248, 0.0616, 0.0]",
        "{hips: [0.1248, 0.0616, 0.0]",
        "legs.left_front.hips: is unknown",
        f"known here: {LEG_KEYS}",
        "did you mean hip?",
    ),
    "degrees without _deg": (
        "yaw_deg: 45.0",
        "yaw: 0.785",
        "legs.left_front.yaw: is unknown",
        f"known here: {LEG_KEYS}",
        "did you mean yaw_deg?",
    ),
    "bool": ("mass: 1.08 ", "mass: true ", "body.mass: must be in [0.001, 100] kg", "is true", ALONE),
    "quoted": ("length: 0.133 ", 'length: "0.133" ', f"leg.tibia.length: {LENGTH}", 'is "0.133"', "remove the quotes"),
    "with a unit": (
        "length: 0.133 ",
        "length: 133 mm ",
        f"leg.tibia.length: {LENGTH}",
        'is "133 mm"',
        "write the number alone, no unit",
    ),
    "comma": (
        "length: 0.133 ",
        "length: 0,133 ",
        f"leg.tibia.length: {LENGTH}",
        'is "0,133"',
        "a decimal point, not a comma",
    ),
    "octal": (
        "length: 0.133 ",
        "length: 010 ",
        f"leg.tibia.length: {LENGTH}",
        "is 10",
        "write a decimal number without leading zeros",
    ),
    "empty": ("length: 0.133 ", "length: ", f"leg.tibia.length: {LENGTH}", "is empty", ALONE),
    "list for a number": ("length: 0.133 ", "length: [0.133] ", f"leg.tibia.length: {LENGTH}", "is [0.133]", ALONE),
    "section for a number": (
        "length: 0.133 ",
        "length: {m: 0.133} ",
        f"leg.tibia.length: {LENGTH}",
        "is a section",
        ALONE,
    ),
    "number for a section": (
        "coxa: {lower_deg: -75.0, upper_deg: 75.0}",
        "coxa: 75.0",
        "leg.joints.coxa: is 75",
        "must be a section with lower_deg, upper_deg",
    ),
    "number for a text": ("model: AX-12A", "model: 12", "leg.servo.model: is 12", MODEL),
    "blank text": ("model: AX-12A", "model: ' '", 'leg.servo.model: is " "', MODEL),
    "NaN": (
        "mass: 1.08 ",
        "mass: .nan ",
        "body.mass: must be in [0.001, 100] kg",
        "is nan",
    ),
    "infinity in a list": (
        "position: [0.0, 0.0, 0.02]",
        "position: [0.0, -.inf, 0.02]",
        "imu.position[1]: must be in [-2, 2] m",
        "is -inf",
    ),
    "list too short": (
        "size: [0.24, 0.12, 0.05]",
        "size: [0.24, 0.12]",
        "body.size: is [0.24, 0.12]",
        "must be a list of 3 numbers, each in [0.001, 2] m",
        "e.g. [0.1, 0.1, 0.1]",
    ),
    "bool in a list": (
        "foothold: [0.0, 0.2534]",
        "foothold: [no, 0.2534]",
        "legs.left_middle.foothold[0]: must be in [-3, 3] m",
        'is "no"',
        "write the number alone, no unit",
    ),
    "millimetres": ("length: 0.066 ", "length: 66 ", f"leg.femur.length: {LENGTH}", "is 66", METRES),
    "hip in millimetres": (
        "hip: [0.0, 0.1034, 0.0]",
        "hip: [0.0, 103.4, 0.0]",
        "legs.left_middle.hip[1]: must be in [-2, 2] m",
        "is 103.4",
        METRES,
    ),
    "grams": (
        "mass: 1.08 ",
        "mass: 1080 ",
        "body.mass: must be in [0.001, 100] kg",
        "is 1080",
        KILOGRAMS,
    ),
    "point foot": (
        "radius: 0.01 ",
        "radius: 0 ",
        "foot.radius: must be in [0.0005, 0.2] m",
        "is 0",
        METRES,
    ),
    "negative": (
        "mass: 0.060 ",
        "mass: -0.060 ",
        "leg.coxa.mass: must be in [0.0001, 20] kg",
        "is -0.06",
        KILOGRAMS,
    ),
    "milliseconds": (
        "swing_time: 0.45 ",
        "swing_time: 450 ",
        "walk.swing_time: must be in [0.05, 10] s",
        "is 450",
        "seconds, not milliseconds?",
    ),
    "angle beyond a turn": (
        "yaw_deg: 135.0",
        "yaw_deg: 495.0",
        f"legs.left_rear.yaw_deg: {ANGLE}",
        "is 495",
        "degrees",
    ),
    "swapped limits": (
        "femur: {lower_deg: -100.0, upper_deg: 130.0}",
        "femur: {lower_deg: 130.0, upper_deg: -100.0}",
        "leg.joints.femur.lower_deg: is 130, upper_deg is -100",
        "must be below upper_deg",
        "are the two swapped?",
    ),
    "limits in radians": (
        "coxa: {lower_deg: -75.0, upper_deg: 75.0}",
        "coxa: {lower_deg: -1.3, upper_deg: 1.3}",
        "leg.joints.coxa.lower_deg: is -1.3, upper_deg is 1.3",
        "must leave the joint at least 10 deg",
        "degrees, not radians?",
    ),
    "bad override": (
        "left_rear: {hip",
        "left_rear: {tibia: {length: 141}, hip",
        f"legs.left_rear.tibia.length: {LENGTH}",
        "is 141",
        METRES,
    ),
    "same hip": (
        "right_front: {hip: [0.1248, -0.0616, 0.0]",
        "right_front: {hip: [0.1248, 0.0616, 0.0]",
        "legs.right_front.hip: is [0.1248, 0.0616, 0]",
        "must differ from legs.left_front.hip",
        "two legs cannot be mounted in one place",
    ),
    "name of a leg": (
        "  left_front:",
        "  Left Front:",
        "legs.Left Front: is not a valid leg name",
        "must be lower-case letters, digits and _, starting with a letter",
        "e.g. left_front",
    ),
    "unknown gait": (
        "gait: tripod ",
        "gait: tripot ",
        'walk.gait: is "tripot"',
        f"must be one of {', '.join(GAIT_NAMES)}",
        "did you mean tripod?",
    ),
    "belly on the ground": (
        "height: 0.10 ",
        "height: 0.02 ",
        "walk.height: is 0.02",
        "must be above 0.025 m",
        "else the underside of body.size is on the ground",
    ),
    "lift above the body": (
        "lift_height: 0.03 ",
        "lift_height: 0.11 ",
        "walk.lift_height: is 0.11",
        "must be at most walk.height, 0.1 m",
    ),
    "foothold too far": (
        "foothold: [0.2309, 0.1677]}\n  left_middle",
        "foothold: [0.3309, 0.2677]}\n  left_middle",
        "legs.left_front.foothold: is [0.3309, 0.2677]",
        "must be in reach of leg left_front at walk.height 0.1 m",
        "it is too far away (57 mm): check hip, lengths and walk.height",
    ),
    "foothold beyond a limit": (
        "foothold: [0.2309, -0.1677]",
        "foothold: [0.0, -0.15]",
        "legs.right_front.foothold: is [0, -0.15]",
        "needs joints.coxa at -99.7 deg, must be within -75 and 75 deg",
        "check yaw_deg, foothold and the joint's limits",
    ),
    "foothold too near to another": (
        "yaw_deg: 90.0, foothold: [0.0, 0.2534]",
        "yaw_deg: 25.0, foothold: [0.21, 0.165]",
        "legs.left_middle.yaw_deg: is 25",
        "the mirror image of right_middle has 90",
        "correct the wrong one of the two",
        "so that legs.left_front.foothold is [0.2309, 0.1677]",
        "must let leg left_front step 2 mm in every direction",
        "move it away from the foothold of its neighbour",
    ),
    "lift out of reach": (
        "lift_height: 0.03 ",
        "lift_height: 0.1 ",
        "legs.left_front.foothold: is [0.2309, 0.1677]",
        "must let leg left_front step 2 mm in every direction with walk.lift_height 0.1 m and walk.height 0.1 m",
        "lower the lift, or change height or foothold",
    ),
    "no stable gait": (
        "center_of_mass: [0.0, 0.0, 0.0]",
        "center_of_mass: [0.3, 0.0, 0.0]",
        "body.center_of_mass: is [0.3, 0, 0]",
        "must be in the box of body.size around body.center",
        "metres, in base_link",
        "so that legs.right_front.foothold is [0.2309, -0.1677]",
        "with right_front in the air the static margin is -13 mm",
        "must be above 0 mm",
        "move the footholds apart, or the center of mass between them",
    ),
    "tibia shorter than its foot": (
        "length: 0.133 ",
        "length: 0.02 ",
        "leg.tibia.length: is 0.02",
        "must be above 0.036 m",
        "it must be longer than 2 x (tibia.radius + foot.radius)",
    ),
}
LINE_NAMED = {  # where another line is named than the one changed
    "lift out of reach": "  left_front: {hip",
    "missing": "  femur:\n",
    "missing in a leg": "  left_front:",
}


def line_of(text: str, part: str) -> int:
    """Line [from 1] of a part's first occurrence."""
    return text[: text.index(part)].count("\n") + 1


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """The path of an invalid file."""
    return tmp_path / "bad.yaml"


def message(path: str | Path) -> str:
    """The refusal of a file."""
    with pytest.raises(RobotFileError) as refused:
        load(path)
    return str(refused.value)


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_refused_with_file_line_key_bound_and_hint(case: str, bad: Path) -> None:
    old, new, *sentence = BAD[case]
    assert old in PHANTOMX
    text = PHANTOMX.replace(old, new, 1)
    bad.write_text(text)
    line = line_of(PHANTOMX, LINE_NAMED.get(case, old))
    assert message(bad) == f"{bad}:{line}: {', '.join(sentence)}"


WHOLE = {  # the content of the file, and the message
    "empty": ("", ": is empty, copy config/robots/phantomx.yaml and edit it"),
    "a list": ("- 1\n", ":1: must be a mapping of keys at the top, copy config/robots/phantomx.yaml and edit it"),
    "a tab": ("name: a\n\tbody: 1\n", ":2: is not valid YAML: found character '\\t' that cannot start any token"),
    "twice": (
        PHANTOMX.replace("    mass: 0.060 ", "    mass: 0.06\n    mass: 0.060 "),
        f":{line_of(PHANTOMX, '    mass: 0.060 ') + 1}: is not valid YAML: "
        'found duplicate key "mass" with value "0.06" (original value: "0.06")',
    ),
    "control character": (
        "name: \x01",
        ": is not valid YAML: unacceptable character #x0001: special characters are not allowed",
    ),
    "alias of itself": (
        "leg: &a {coxa: *a}\n",
        ":1: leg.coxa: is empty, must be a section with length, mass, radius",
    ),
    "three legs": (
        "".join(line for line in PHANTOMX.splitlines(True) if "_rear: {" not in line and "right_middle: {" not in line),
        f":{line_of(PHANTOMX, 'legs:' + chr(10))}: legs: has 3 legs, must have at least 4, "
        "three must stand while one swings",
    ),
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_bad_file_is_refused_in_one_line_that_names_it(case: str, bad: Path) -> None:
    text, violation = WHOLE[case]
    bad.write_text(text)
    assert message(bad) == f"{bad}{violation}"


def test_a_missing_section_is_named(bad: Path) -> None:
    bad.write_text("name: a\n")
    assert message(bad) == f"{bad}:1: legs: is missing, must be a section, {MISSING}"
    head, rest = PHANTOMX.split("\nleg:\n")
    bad.write_text(head + "\n" + rest[rest.index("legs:\n") :])
    assert message(bad) == f"{bad}:1: leg: is missing, must be a section, {MISSING}"


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    assert message(tmp_path / "absent.yaml") == f"{tmp_path}/absent.yaml: there is no such file"
    assert message(tmp_path) == f"{tmp_path}: cannot be read: it is a folder, give the path of a text file"
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert message(tmp_path / "binary.yaml") == f"{tmp_path}/binary.yaml: is not text in UTF-8: is it the right file?"


def test_an_unknown_name_lists_the_known_ones() -> None:
    known = ", ".join(known_robots())
    assert message("phantom") == f"phantom: is not a known robot, known: {known}, did you mean phantomx?"
    assert message("zzz") == (f"zzz: is not a known robot, known: {known}, give your own file as a path, ./NAME.yaml")


def test_phantomx_is_the_robot_its_file_describes() -> None:
    file = load("phantomx")
    robot = file.robot
    assert robot.leg_names == STANDARD
    assert robot.mass == pytest.approx(2.1)
    assert [leg.coxa.length for leg in robot.legs] == [0.052] * 6
    assert robot.legs[5].hip_yaw == math.radians(-135.0)
    assert robot.legs[0].coxa_joint.upper == math.radians(75.0)
    assert (file.servo_model, file.servos) == ("AX-12A", None)
    for leg in robot.legs:
        assert math.dist(leg.hip[:2], leg.foothold) == pytest.approx(0.15, abs=1e-4)


def test_the_article_robot_has_the_articles_figures_as_millimetres() -> None:
    """Article A8: hips, segment lengths, idle feet and step height of its robot."""
    robot = load("article").robot
    for leg in robot.legs:
        x, y, z = (1000.0 * c for c in leg.hip)
        assert (abs(x) in (0.0, 70.0), abs(y), z) == (True, 10.0, 0.0)
        assert [round(1000 * s.length) for s in (leg.coxa, leg.femur, leg.tibia)] == [50, 50, 70]
        idle = (1000.0 * leg.foothold[0] - x, 1000.0 * leg.foothold[1] - y)
        side = math.copysign(1.0, y)
        assert idle == pytest.approx((0.0, side * 100.0) if x == 0.0 else (math.copysign(30.0, x), side * 90.0))
    assert (robot.walk.height, robot.walk.lift_height) == (0.070, 0.030)


@pytest.mark.parametrize("name", known_robots())
def test_every_robot_can_stand_and_sit_and_lift_its_feet_while_sitting(name: str) -> None:
    robot = load(name).robot
    belly = robot.body.size[2] / 2.0 - robot.body.center[2]  # [m] height of base_link when sitting
    heights = {"standing": robot.walk.height, "sitting": belly, "lifting": belly - robot.walk.lift_height}
    for what, height in heights.items():
        feet = np.array([[*leg.foothold, robot.foot_radius - height] for leg in robot.legs])
        assert inverse(robot, feet, np.zeros((len(robot.legs), 3))).reached, what


def test_a_leg_overrides_any_common_key_and_only_for_itself(bad: Path) -> None:
    bad.write_text(
        PHANTOMX.replace(
            "left_rear: {hip",
            "left_rear: {tibia: {length: 0.141}, joints: {tibia: {upper_deg: 5.0}}, servo: {stall_torque: 2.0}, hip",
        )
    )
    legs = load(bad).robot.legs
    assert [leg.tibia.length for leg in legs] == [0.133, 0.133, 0.141, 0.133, 0.133, 0.133]
    assert [leg.tibia_joint.upper for leg in legs] == [math.radians(5.0 if i == 2 else 10.0) for i in range(6)]
    assert [leg.femur_joint.stall_torque for leg in legs] == [2.0 if i == 2 else 1.5 for i in range(6)]
    assert legs[2].tibia.mass == legs[0].tibia.mass


def test_a_direction_may_be_counted_from_0_to_360_degrees(tmp_path: Path) -> None:
    text, same = resolve("phantomx").read_text(), tmp_path / "same.yaml"
    assert "yaw_deg: -135.0" in text
    same.write_text(text.replace("yaw_deg: -135.0", "yaw_deg: 225.0"))
    yaws = [[leg.hip_yaw for leg in load(file).robot.legs] for file in ("phantomx", same)]
    assert yaws[1] == pytest.approx(yaws[0], abs=1e-12)


def test_a_value_that_only_the_legs_have_need_not_stand_in_common(bad: Path) -> None:
    text = PHANTOMX.replace("    length: 0.133 ", "    # ").replace("{hip:", "{tibia: {length: 0.14}, hip:")
    bad.write_text(text)
    assert [leg.tibia.length for leg in load(bad).robot.legs] == [0.14] * 6


def test_the_servo_section_is_loaded_as_plain_data(bad: Path) -> None:
    bad.write_text(PHANTOMX + "servos: {bus: /dev/ttyUSB0, ids: [1, 2], reversed: true}\n")
    file = load(bad)
    assert file.servos == {"bus": "/dev/ttyUSB0", "ids": [1, 2], "reversed": True}
    assert type(file.servos) is dict


def test_a_missing_resource_lists_every_searched_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}/one:{tmp_path}/two")
    with pytest.raises(FileNotFoundError) as missing:
        share("urdf", "absent.xacro")
    for place in (f"{tmp_path}/one", f"{tmp_path}/two", sys.prefix):
        assert f"{place}/share/{shipped_files.PACKAGE}/urdf/absent.xacro" in str(missing.value)


def test_without_a_checkout_the_installed_share_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "share" / shipped_files.PACKAGE
    (installed / "urdf").mkdir(parents=True)
    (installed / "urdf" / "hexapod.urdf.xacro").touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setattr(
        shipped_files, "__file__", str(tmp_path / "lib" / "hexapod_control" / "config" / "shipped_files.py")
    )
    assert share("urdf") == installed / "urdf"
