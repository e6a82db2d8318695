# SPDX-License-Identifier: Apache-2.0
"""Cameras of a robot file: their frames are in the URDF; a bad one is refused with line, key, value, bound, remedy."""

import math
from pathlib import Path

import numpy as np
import pytest

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import from_text, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import parse_tree
from hexapod_control.config.shipped_files import share
from hexapod_control.core.robot import Camera
from hexapod_control.core.sensing.cameras import frames, optical_rotation

TEXT = share("config", "robots", "phantomx.yaml").read_text()
CAMERAS = """
cameras:
  front:
    position: [0.13, 0.01, 0.04]
    rpy_deg: [0, 35, 0]
  rear:
    position: [-0.13, 0.0, 0.04]
    rpy_deg: [5, 20, 180]
    fov_deg: [69, 55]
    range: [0.2, 4]
    resolution: [32, 24]
    rate: 5
"""
PATH = Path("/robot.yaml")
BAD = {  # text, what it is replaced by, the sentence behind the key `cameras.`
    "a place is missing": (
        "    position: [0.13, 0.01, 0.04]\n",
        "",
        "front.position: is missing, must be a list of 3 numbers, each in [-2, 2] m, every key is required",
    ),
    "millimetres": ("[0.13,", "[130,", "front.position[0]: must be in [-2, 2] m, is 130, metres, not millimetres?"),
    "two angles": (
        "rpy_deg: [0, 35, 0]",
        "rpy_deg: [0, 35]",
        "front.rpy_deg: is [0, 35], must be a list of 3 numbers, each in [-180, 180] deg, e.g. [0.1, 0.1, 0.1]",
    ),
    "ranges swapped": (
        "range: [0.2, 4]",
        "range: [4, 0.2]",
        "rear.range: is [4, 0.2], must begin with the shortest distance, are the two swapped?",
    ),
    "the resolution of the real camera": (
        "resolution: [32, 24]",
        "resolution: [848, 480]",
        "rear.resolution[0]: must be in [4, 160], is 848, "
        "each pixel is a ray; the real resolution is set in its driver",
    ),
    "an unknown key": (
        "rate: 5",
        "rates: 5",
        "rear.rates: is unknown, known here: position, rpy_deg, fov_deg, range, resolution, rate, did you mean rate?",
    ),
    "the name of another link": (
        "  front:",
        "  imu:",
        "imu: would have the frame imu_link, which exists, must be another name, e.g. camera",
    ),
}


def test_a_robot_without_the_section_has_no_cameras_and_the_frames_of_before():
    file = load("phantomx")
    assert file.robot.cameras == ()
    assert "camera" not in urdf(file)


def test_keys_that_are_not_given_are_those_of_a_usual_camera():
    front, rear = from_text(PATH, TEXT + CAMERAS).robot.cameras
    assert front == Camera("front", (0.13, 0.01, 0.04), (0.0, math.radians(35.0), 0.0))
    assert rear.fov == pytest.approx((math.radians(69.0), math.radians(55.0)))
    assert (rear.range, rear.resolution, rear.rate) == ((0.2, 4.0), (32, 24), 5.0)


def test_the_urdf_has_the_frames_of_each_camera_and_its_optical_axis_points_where_it_looks():
    file = from_text(PATH, TEXT + CAMERAS)
    tree = parse_tree(PATH, urdf(file))
    for camera in file.robot.cameras:
        pose = np.eye(4)
        for parent, child, _ in frames(camera):
            (joint,) = [joint for joint in tree.joints.values() if joint.child == child]
            assert joint.parent == parent
            pose = pose @ tree.local(joint, {})
        assert pose[:3, 3] == pytest.approx(camera.position)
        assert pose[:3, :3] == pytest.approx(optical_rotation(camera), abs=1e-9)
    front, rear = file.robot.cameras
    assert optical_rotation(front)[:, 2] == pytest.approx([math.cos(0.6109), 0.0, -math.sin(0.6109)], abs=1e-4)
    assert optical_rotation(front)[:, 0] == pytest.approx([0.0, -1.0, 0.0], abs=1e-9)  # right in the image
    assert optical_rotation(rear)[0, 2] < -0.9


@pytest.mark.parametrize("case", BAD)
def test_a_bad_camera_is_refused_with_line_key_value_bound_and_remedy(case):
    old, new, sentence = BAD[case]
    text = TEXT + CAMERAS.replace(old, new)
    with pytest.raises(RobotFileError) as refused:
        from_text(PATH, text)
    place, _, rest = str(refused.value).partition(": cameras.")
    assert rest == sentence
    lines = text.splitlines()
    assert place == f"{PATH}:{max(k for k, line in enumerate(lines, 1) if (new.strip() or '  front:') in line)}"


def test_cameras_that_are_no_section_are_refused():
    with pytest.raises(RobotFileError, match='cameras: is "front", must be a section, one entry per camera'):
        from_text(PATH, TEXT + "\ncameras: front\n")
