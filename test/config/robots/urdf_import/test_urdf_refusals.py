# SPDX-License-Identifier: Apache-2.0
"""A URDF that cannot be imported is refused in one sentence that names what was found."""

import pytest
from support.robots.urdf_robots import MASS, UrdfPeculiarity, scaled, urdf_text

from hexapod_control.config.robots.draft.robot_draft import Origin
from hexapod_control.config.robots.urdf_import.importer import ImportRequest, import_urdf
from hexapod_control.config.robots.urdf_import.reading.urdf_text import MAX_URDF_BYTES, UrdfError

PLAIN = urdf_text(UrdfPeculiarity())
NO_MASS = urdf_text(UrdfPeculiarity(mass=MASS.replace("{0}", "0")))
FIVE = ("coxa", "femur", "tibia", "tarsus")
TEXTS = {
    "a document type": ('<!DOCTYPE x [<!ENTITY a "b">]>' + PLAIN, "declares a document type or entities"),
    "no robot": ("<sdf/>", "begins with <sdf>"),
    "no xml": ("robot:\n  legs: 6", "is not valid XML"),
    "deep nesting": ("<a>" * 100 + "</a>" * 100, "more than 60 elements within each other"),
    "too large": (PLAIN + " " * MAX_URDF_BYTES, "is larger than 8 MB"),
    "two links of a name": (
        PLAIN.replace('<link name="lm_coxa">', '<link name="lf_coxa">', 1),
        "lf_coxa' occurs 2 times",
    ),
    "an unknown parent": (
        PLAIN.replace('<parent link="lf_coxa"/>', '<parent link="nowhere"/>'),
        "names link 'nowhere'",
    ),
    "a value that is no number": (PLAIN.replace('lower="-1.2"', 'lower="wide"'), "must be a number"),
    "one joint per leg": (
        urdf_text(UrdfPeculiarity(parts=("coxa",))),
        "has 6 chains of one joint each (lf_coxa_joint,",
    ),
    "two joints per leg": (urdf_text(UrdfPeculiarity(parts=("coxa", "femur"))), "has 6 chains of two joints"),
    "four joints per leg": (urdf_text(UrdfPeculiarity(parts=FIVE)), "--freeze lf_tarsus_joint=ANGLE"),
    "three legs": (PLAIN.split('<joint name="rm_coxa')[0] + "</robot>", "has only 3 legs"),
    "no foot": (urdf_text(UrdfPeculiarity(foot="none")), "in metres: --foot lf_tibia X Y Z"),  # nor a center of mass
    "millimetres": (scaled(PLAIN, 1000.0), "if it is drawn too large, give --scale 0.001"),
    "ten times too large": (scaled(PLAIN, 10.0), "tibia of 1.33 m behind joint lf_tibia_joint, at most 1 m"),
    "seven times too large": (scaled(PLAIN, 7.0), "give --scale 0.1 if it is drawn 7 times too large, or --mass KG"),
    "large without masses": (scaled(NO_MASS, 4.0), "gives no mass, and a robot with legs of 1 m weighs about 134 kg"),
    "only a frame at the knee": (
        scaled(PLAIN, 0.05, "_foot_joint"),
        "ends 7 mm from its axis, near for a femur of 66 mm, give the tip in the frame of link lf_tibia",
    ),
    "narrow limits": (
        PLAIN.replace('lower="-1.6" upper="1.9"', 'lower="1.5" upper="1.6"'),
        "no stance in which all feet can step",
    ),
}


def refusal(tmp_path, text, **given):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with pytest.raises(UrdfError) as caught:
        import_urdf(ImportRequest(path, **given))
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message


@pytest.mark.parametrize("name", TEXTS)
def test_a_urdf_without_usable_legs_is_refused_in_one_sentence(name, tmp_path):
    text, reason = TEXTS[name]
    assert reason in refusal(tmp_path, text)


def test_a_quadruped_with_hip_roll_axes_is_refused(tmp_path):
    """Hips that rotate about the x axis, as on most quadrupeds."""
    legs = [
        _dog_leg(name, x, y)
        for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("rl", -0.2, 0.1), ("rr", -0.2, -0.1))
    ]
    message = refusal(tmp_path, f'<robot name="dog"><link name="base_link"/>{"".join(legs)}</robot>')
    assert "has 4 legs whose first joint (fl_hip, fr_hip, rl_hip, ...) is a roll axis" in message


def _dog_leg(name, x, y):
    joints = (("hip", "base_link", f"{x} {y} 0", "1 0 0"), ("thigh", f"{name}_hip", "0 0.05 0", "0 1 0"))
    joints += (("calf", f"{name}_thigh", "0 0 -0.2", "0 1 0"), ("foot", f"{name}_calf", "0 0 -0.2", "0 1 0"))
    return "".join(
        f'<link name="{name}_{part}"/><joint name="{name}_{part}" type="{"fixed" if part == "foot" else "revolute"}">'
        f'<parent link="{parent}"/><child link="{name}_{part}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        '<limit lower="-1" upper="1" effort="9" velocity="9"/></joint>'
        for part, parent, xyz, axis in joints
    )


def test_a_joint_to_freeze_that_does_not_exist_is_refused(tmp_path):
    assert "has no revolute joint 'tarsus' to freeze" in refusal(tmp_path, PLAIN, frozen={"tarsus": 0.0})


def test_a_joint_that_follows_another_one_within_a_leg_is_refused(tmp_path):
    """The tarsus of a linkage couples the foot to the femur, which a leg of three joints cannot represent."""
    text = urdf_text(UrdfPeculiarity(parts=FIVE))
    for leg in ("lf", "lm", "lr", "rf", "rm", "rr"):
        end = f'<child link="{leg}_tarsus"/>'
        text = text.replace(end, f'{end}<mimic joint="{leg}_femur_joint" multiplier="-1"/>')
    assert "joint lf_tarsus_joint within a leg follows lf_femur_joint" in refusal(tmp_path, text)


def test_a_foot_given_as_a_point_replaces_the_search(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(urdf_text(UrdfPeculiarity(foot="none")))
    robot = import_urdf(ImportRequest(path, feet={"*": (0.15, 0.0, 0.0)}, forward="x"))
    assert robot.legs["left_front"].tibia == pytest.approx(0.15)
    given = [each.text for each in robot.findings if each.origin is Origin.GIVEN]
    assert given == ["forward is x of link base_link, by --forward", "foot tip: given"]


def test_without_frame_and_shape_the_foot_is_assumed_from_the_center_of_mass_and_reported(tmp_path):
    """As in a URDF whose meshes are elsewhere."""
    path, mass = tmp_path / "robot.urdf", '<inertial><origin xyz="0.06 0 0"/>'
    path.write_text(urdf_text(UrdfPeculiarity(foot="none", mass=MASS.replace("<inertial>", mass))))
    robot = import_urdf(ImportRequest(path))
    assert robot.legs["left_front"].tibia == pytest.approx(0.12)
    (line,) = [each.text for each in robot.findings if each.text.startswith("foot tip")]
    assert "twice as far as the center of mass" in line and "measure the tibia, or give --foot X Y Z" in line


def test_a_xacro_file_is_expanded_with_the_packages_around_it(tmp_path):
    folder = tmp_path / "my_robot" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "my_robot" / "package.xml").write_text("<package><name>my_robot</name></package>")
    (folder / "legs.xacro").write_text(PLAIN.replace("<robot", '<robot xmlns:xacro="http://ros.org/wiki/xacro"', 1))
    top = '<robot name="x" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arg name="kind" default=""/>{}</robot>'
    include = '<xacro:if value="$(arg big)"><xacro:include filename="$(find my_robot)/urdf/legs.xacro"/></xacro:if>'
    (folder / "robot.xacro").write_text(top.format(include))
    robot = import_urdf(ImportRequest(folder / "robot.xacro", arguments={"big": "true"}))
    assert len(robot.legs) == 6
    with pytest.raises(UrdfError, match="--xacro-arg NAME:=VALUE"):
        import_urdf(ImportRequest(folder / "robot.xacro"))
    (folder / "robot.xacro").write_text(top.format(include.replace("find my_robot", "find elsewhere")))
    with pytest.raises(UrdfError, match="keep its folder beside this file"):
        import_urdf(ImportRequest(folder / "robot.xacro", arguments={"big": "true"}))
