# SPDX-License-Identifier: Apache-2.0
"""`servos.extra_joints` of a robot file: read, refused with a remedy, and kept when a calibration is written."""

from dataclasses import replace

import pytest
from ruamel.yaml import YAML
from support.robots.head import TEXT, head_file

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.save_servo_section import save
from hexapod_control.servos.settings.servo_section import servo_settings, standard

KIND = PROTOCOLS["feetech_st"]
BAD = {  # what is replaced in the saved file, by what, the sentence
    "no section": (
        ("  extra_joints:", "  extra_joint:"),
        "servos.extra_joint: is unknown",
    ),
    "no servo": (("    tilt:", "    tilt2:"), "servos.extra_joints.tilt2: is unknown, known here: pan, tilt"),
    "an id of a leg": (
        ("id: 19", "id: 7"),
        "servos.extra_joints.pan.id: is 7, which servos.joints.left_rear.coxa (line ",
    ),
    "a range out of reach": (
        ("center: 2048, q_center_deg: 32.5", "center: 200, q_center_deg: 32.5"),
        "servos.extra_joints.tilt: cannot reach the joint's lower limit 5.0 deg: it is at raw -113, "
        "must be within low 0 and high 4095, check center, with 2048 it can",
    ),
}


@pytest.fixture
def saved(tmp_path):
    """A robot file with the servos of a standard robot, as a calibration writes them."""
    path = head_file(tmp_path)
    file = load(path)
    save(file, standard(file.robot, "feetech_st", "/dev/ttyUSB0"), KIND.scale)
    return path


def test_without_the_section_their_ids_follow_those_of_the_legs(tmp_path):
    settings = servo_settings(load(head_file(tmp_path)))
    assert [joint.joint for joint in settings.extra] == ["pan_joint", "tilt_joint"]
    assert settings.ids == tuple(range(1, 21))


def test_a_calibration_of_the_legs_keeps_theirs(saved):
    text = saved.read_text().replace("id: 19", "id: 42")
    saved.write_text(text)
    file = load(saved)
    settings = servo_settings(file)
    assert settings.ids[-2:] == (42, 20) and len(settings.joints) == 18
    moved = tuple(replace(joint, center=joint.center + 5.0) for joint in settings.joints)
    save(file, replace(settings, joints=moved), KIND.scale)
    again = servo_settings(load(saved))
    assert again.extra == settings.extra and again.joints == moved
    assert list(YAML(typ="safe").load(saved.read_text())["servos"]["extra_joints"]) == ["pan", "tilt"]


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_refused_with_its_key(saved, case):
    (old, new), sentence = BAD[case]
    text = saved.read_text()
    before, _, servos = text.partition("\nservos:")
    assert old in servos
    saved.write_text(f"{before}\nservos:{servos.replace(old, new, 1)}")
    with pytest.raises(RobotFileError) as refused:
        servo_settings(load(saved))
    assert sentence in str(refused.value)


def test_a_missing_entry_is_named(saved):
    text = saved.read_text()
    head, _, tail = text.partition("    tilt:")
    assert tail and TEXT.count("tilt:") == 1
    with pytest.raises(RobotFileError) as refused:
        saved.write_text(head)
        servo_settings(load(saved))
    assert str(refused.value).endswith(
        "servos.extra_joints.tilt: is missing, must have id and direction, every joint is required"
    )
