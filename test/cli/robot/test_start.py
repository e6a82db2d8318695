# SPDX-License-Identifier: Apache-2.0
"""`hexapod start`: what its page names is in a list, a file is checked before it is kept, and what was started ends."""

import asyncio
import re

import pytest

from hexapod_control.cli.robot.robot_gallery import RobotGallery
from hexapod_control.cli.robot.start_page import StartPage
from hexapod_control.config.robots.robot_file import known_robots, resolve

PHANTOMX = resolve("phantomx").read_text()
STRANGE = ["", "/etc/passwd", "../mine.yaml", "./mine.yaml", "my_robot.yaml", "mine", "--help", 3, None, ["mine.yaml"]]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.yaml").write_text(PHANTOMX)
    (tmp_path / "list.yaml").write_text("waypoints: []\n")
    return tmp_path


@pytest.fixture
def page(folder):
    return StartPage(RobotGallery(folder), lan=False)


def asked(page, act, **fields):
    return asyncio.run(page.reply({"act": act, **fields}))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_gallery_has_the_robots_of_the_package_and_the_robot_files_of_the_folder_with_pictures(page):
    robots = asked(page, "robots")["robots"]
    assert [robot["name"] for robot in robots] == ["mine.yaml", *known_robots()]
    assert all(robot["picture"].startswith("<svg") and robot["mass"] > 0.0 for robot in robots)
    assert [robot["name"] for robot in robots if robot["own"]] == ["mine.yaml"]
    assert {robot["name"]: robot["ready"] for robot in robots}["freenove"]


def test_a_robot_file_is_kept_under_a_new_name_and_one_that_is_not_valid_is_refused_in_a_sentence(page, folder):
    assert asked(page, "upload", text=PHANTOMX) == {"name": "my_robot.yaml"}
    assert asked(page, "upload", text=PHANTOMX) == {"name": "my_robot_2.yaml"}
    before = names(folder)
    refusal = asked(page, "upload", text=PHANTOMX.replace("swing_time:", "swing_tme:"))["refusal"]
    assert re.match(r"line \d+: walk\.swing_tme: is unknown, .* did you mean swing_time\?", refusal["text"])
    assert "is not valid YAML" in asked(page, "upload", text="a: [")["refusal"]["text"]
    assert names(folder) == before and (folder / "my_robot.yaml").read_text() == PHANTOMX


@pytest.mark.parametrize("robot", STRANGE)
@pytest.mark.parametrize("what", ["sim", "first", "robot"])
def test_a_robot_that_is_not_in_the_list_starts_nothing(page, folder, what, robot):
    before = names(folder)
    with pytest.raises(ValueError, match="the robot: there is none of this name"):
        asked(page, "start", what=what, robot=robot)
    assert asked(page, "show")["program"] is None and names(folder) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"act": "remove"},
        {"act": "upload"},
        {"act": "start", "what": "calibrate", "robot": "phantomx"},
        {"act": "start", "what": "sim", "robot": "phantomx", "port": "/dev/none"},
    ],
)
def test_a_request_of_no_page_is_refused(page, fields):
    with pytest.raises(ValueError, match=r"^the request: "):
        asyncio.run(page.reply(fields))
