# SPDX-License-Identifier: Apache-2.0
"""What a URDF leaves open is found around it, or given as an option; what is chosen passes the plausibility rules."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from support.robots.urdf_robots import COXA, FEMUR, HEXAPOD, LIMIT, MASS, TIBIA, UrdfPeculiarity, scaled, urdf_text

from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.robot_file import confirmed, from_text, implausible
from hexapod_control.config.robots.urdf_import.importer import ImportRequest, import_urdf
from hexapod_control.config.robots.urdf_import.writing.joint_names import import_notes

PLAIN = UrdfPeculiarity()
NO_FOOT = UrdfPeculiarity(foot="none")
SIDEWAYS = {name: (x, y, 90) for name, (x, y, _) in HEXAPOD.items()}  # all hips across the body
SLOW = LIMIT.replace('velocity="6"', 'velocity="0.5"')
UNUSUAL = {
    "hips across the body": replace(PLAIN, places=SIDEWAYS),
    "heavy coxas": replace(PLAIN, coxa=0.02, mass=MASS.replace("{0}", "0.3")),
    "servos of half a radian per second": replace(PLAIN, limit=SLOW),
    "no masses": replace(PLAIN, mass=MASS.replace("{0}", "0")),
}


def imported(tmp_path, text, **given):
    path = tmp_path / "urdf" / "robot.urdf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return import_urdf(ImportRequest(path, **given))


def file_of(robot):
    return from_text(robot.tree.path, robot_text(robot, import_notes(robot)))


def test_a_scale_makes_a_robot_drawn_in_millimetres_the_one_drawn_in_metres(tmp_path):
    drawn = imported(tmp_path, scaled(urdf_text(PLAIN), 1000.0), scale=0.001)
    plain = imported(tmp_path, urdf_text(PLAIN))
    assert drawn.stance == plain.stance
    leg = drawn.legs["right_rear"]
    assert (leg.coxa, leg.femur, leg.tibia) == pytest.approx((COXA, FEMUR, TIBIA))


def test_feet_are_given_for_each_leg_in_the_frame_of_its_own_last_link(tmp_path):
    """CAD exports turn every last link differently, so that no point is the foot of all legs."""
    turned = urdf_text(replace(NO_FOOT, skew=True))
    frames = import_urdf(_written(tmp_path, urdf_text(replace(PLAIN, skew=True))))
    feet = {tip.link: tip.point.tolist() for tip in frames.tips.values()}
    robot = imported(tmp_path, turned, feet=feet)
    assert [leg.tibia for leg in robot.legs.values()] == pytest.approx([TIBIA] * 6)
    assert len({tuple(np.round(point, 3)) for point in feet.values()}) == 6


def _written(tmp_path, text):
    (tmp_path / "frames.urdf").write_text(text)
    return ImportRequest(tmp_path / "frames.urdf")


def stl(points):
    rows = [struct.pack("<12fH", *([0.0] * 3), *np.ravel(corners), 0) for corners in points]
    return b"\0" * 80 + struct.pack("<I", len(rows)) + b"".join(rows)


def obj(points):
    corners = "".join(f"v {x} {y} {z}\n" for x, y, z in np.reshape(points, (-1, 3)))
    return (corners + "".join(f"f {3 * k + 1} {3 * k + 2} {3 * k + 3}\n" for k in range(len(points)))).encode()


def collada(points):
    """In centimetres, as the file says."""
    numbers = " ".join(repr(100.0 * value) for value in np.ravel(points).tolist())
    count = 3 * len(points)
    accessor = "".join(f'<param name="{axis}" type="float"/>' for axis in "XYZ")
    mesh = (
        f'<source id="s"><float_array id="a" count="{3 * count}">{numbers}</float_array><technique_common>'
        f'<accessor source="#a" count="{count}" stride="3">{accessor}</accessor></technique_common></source>'
        '<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>'
        f'<triangles count="{len(points)}"><input semantic="VERTEX" source="#v" offset="0"/>'
        f"<p>{' '.join(map(str, range(count)))}</p></triangles>"
    )
    return (
        '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>'
        '<unit name="centimeter" meter="0.01"/></asset><library_geometries><geometry id="g"><mesh>'
        f"{mesh}</mesh></geometry></library_geometries><library_visual_scenes>"
        '<visual_scene id="w"><node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#w"/></scene></COLLADA>'
    ).encode()


@pytest.mark.parametrize("write", [stl, obj, collada])
@pytest.mark.parametrize(
    "place", ["C:\\Users\\me\\robot\\Shin.{}", "file:///home/me/meshes/Shin.{}", "package://gone/meshes/Shin.{}"]
)
def test_a_mesh_named_by_a_path_of_another_computer_is_found_beside_the_urdf(tmp_path, write, place):
    suffix = {stl: "stl", obj: "obj", collada: "dae"}[write]
    (tmp_path / "meshes").mkdir()
    tip = (TIBIA, 0.0, 0.0)
    (tmp_path / "meshes" / f"shin.{suffix}").write_bytes(write([[(0.0, 0.0, 0.0), (0.01, 0.01, 0.0), tip]]))
    name = place.format(suffix.upper())
    shape = f'<visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
    text = urdf_text(NO_FOOT)
    for leg in ("lf", "lm", "lr", "rf", "rm", "rr"):
        begin, end = text.split(f'<link name="{leg}_tibia">')
        text = f'{begin}<link name="{leg}_tibia">{end.replace("</link>", shape, 1)}'
    robot = imported(tmp_path, text)
    assert [leg.tibia for leg in robot.legs.values()] == pytest.approx([TIBIA] * 6, abs=1e-6)


def test_legs_on_the_centerline_are_neither_left_nor_right(tmp_path):
    """One leg ahead, one behind, and two on each side."""
    places = {"lf": (0.05, 0.09, 60), "lr": (-0.05, 0.09, 120)}
    plain = urdf_text(replace(PLAIN, places=places))
    front, rear = (
        urdf_text(replace(PLAIN, places={name: place}))
        for name, place in (("lx", (0.12, 0.0, 0)), ("ly", (-0.12, 0.0, 180)))
    )
    legs = [text.split("</link>", 1)[1].split('<joint name="r')[0] for text in (front, rear)]
    robot = imported(tmp_path, plain.replace("</robot>", "".join(legs) + "</robot>"), forward="x")
    assert set(robot.legs) == {"left_front", "left_rear", "right_front", "right_rear", "front", "rear"}
    assert robot.legs["front"].hip[0] > 0.1 and not robot.unusual


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_an_import_chooses_and_assumes_is_plausible_and_what_it_reads_is_confirmed(name, tmp_path):
    robot = imported(tmp_path, urdf_text(UNUSUAL[name]))
    file = file_of(robot)
    assert not implausible(file)
    chosen = ("yaw_deg", "foothold", "radius", "height", "lift_height", "stiffness")
    assert not [error.key for error in confirmed(file) if error.key.endswith(chosen)]


def test_slow_servos_get_footholds_at_which_the_feet_are_lifted_quickly(tmp_path):
    """Straight below the hip, a foot is hardly lifted by a turn of the femur."""
    limit = '<limit lower="-0.5" upper="0.5" effort="1.5" velocity="0.5"/>'
    robot = imported(tmp_path, urdf_text(replace(PLAIN, zero=(0.5, -2.2), limit=limit)))
    assert robot.stance.swing_time <= 6.0
