# SPDX-License-Identifier: Apache-2.0
"""What pages keep: dances as motion files that gait_planner plays and the command line reads, and profiles."""

import json

import pytest
from support.kits.plain_node import PlainNode
from support.phantomx import robot

from hexapod_control.config.motion_file import load_motion_text
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.motions.motion_steps import LegStep, PoseStep, SwayStep, WaitStep, WalkStep
from hexapod_control.nodes.web.kept_files import Dances, Profiles, RobotFileSettings
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.web.protocol import DanceMessage, ProfileMessage, RefusedMessageError, parse

STEPS = (
    {"pose": {"x": 0.01, "z": -0.005, "roll_deg": 5.0, "duration": 1.0}},
    {"wait": {"duration": 0.5}},
    {"walk": {"x": 0.05, "yaw_deg": -10.0, "duration": 2.0}},
    {"sway": {"x": 0.015, "y": 0.015, "period": 2.0, "rounds": 1.0}},
)


class Stage:
    """The dances of a node, what was played, and what was sent."""

    def __init__(self, folder):
        self.folder, self.played, self.sent = folder, [], []
        self.dances = Dances(PlainNode(), 0.1, folder, self.played.append, lambda *message: self.sent.append(message))

    def does(self, act, name="", steps=()):
        self.dances.execute(DanceMessage(act, name, steps))


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path / "dances")


def test_a_dance_is_played_as_the_content_of_a_motion_file(stage):
    stage.does("play", "Küche 1", STEPS)
    request = json.loads(stage.played[0].data)
    motion = load_motion_text(request["file"], request["text"], robot())
    assert [type(step) for step in motion.steps] == [PoseStep, WaitStep, WalkStep, SwayStep]
    assert motion.name == "K_che_1"
    assert (motion.steps[0].x, motion.steps[2].duration) == (pytest.approx(0.01), 2.0)
    stage.does("play", "nothing")
    assert len(stage.played) == 1


def test_steps_of_the_legs_run_beside_those_of_the_body(stage):
    legs = ({"wait": {"duration": 0.5}}, {"leg": {"name": "left_front", "x": 0.01, "out": 0.0, "z": 0.03}})
    stage.dances.execute(DanceMessage("save", "Wave", STEPS[:2], legs, (0.5, 1.0)))
    (kept,) = stage.sent[-1][2]["list"]
    assert (kept["steps"], kept["legs"], kept["beats"]) == ([*STEPS[:2]], [*legs], [0.5, 1.0])
    (together,) = load_motion_text("dance.yaml", kept["text"], robot()).steps
    assert [[type(step) for step in repeat.steps] for repeat in together.steps] == [
        [PoseStep, WaitStep],
        [WaitStep, LegStep],
    ]
    stage.dances.execute(DanceMessage("save", "Wave", (), legs))
    (kept,) = stage.sent[-1][2]["list"]
    assert kept["steps"] == [*legs] and "legs" not in kept


def test_saved_dances_are_listed_with_steps_and_file_until_they_are_deleted(stage):
    stage.does("save", "../Twirl", STEPS)
    to, kind, fields = stage.sent[-1]
    assert (to, kind, [each["name"] for each in fields["list"]]) == (0, "dances", ["Twirl"])
    assert fields["list"][0]["steps"] == list(STEPS)
    (file,) = stage.folder.iterdir()
    assert file.read_text() == fields["list"][0]["text"]
    for number, text in enumerate(
        ("steps: [", "steps: 3", "steps: [{together: {steps: []}}]", "", "steps: [{fly: {x: 1}}]")
    ):
        (stage.folder / f"other {number}.yaml").write_text(text)
    stage.dances.files.send_list()
    assert [each["name"] for each in stage.sent[-1][2]["list"]] == ["Twirl"]
    stage.does("delete", "Twirl")
    assert stage.sent[-1][2] == {"list": []} and not file.exists()


def test_saved_profiles_are_listed_until_they_are_deleted(tmp_path):
    sent = []
    profiles = Profiles(PlainNode(), tmp_path, lambda *message: sent.append(message))
    profiles.execute(ProfileMessage("save", "../Kind", "wave", {"speed": 0.25, "vx": 0.1}))
    kept = {"name": "Kind", "gait": "wave", "values": {"speed": 0.25, "vx": 0.1}}
    for number, text in enumerate(("{", "3", '{"gait": "wave"}', '{"gait": "wave", "values": {"speed": "fast"}}')):
        (tmp_path / f"other {number}.json").write_text(text)
    profiles.files.send_list()
    (found,) = sent[-1][2]["list"]
    assert found.pop("saved") > 0 and found == kept
    profiles.execute(ProfileMessage("delete", "Kind"))
    assert sent[-1] == (0, "profiles", {"list": []})


@pytest.mark.parametrize(
    "steps",
    [
        3,
        [3],
        [{}],
        [{"fly": {}}],
        [{"pose": 3}],
        [{"pose": {"x: 1}, fly": 1}}],
        [{"pose": {}, "wait": {}}],
        [{"pose": {"x": "far"}}],
        [{"leg": {"name": 3}}],
        [{"leg": {"name": "one, z: 1}"}}],
        [{"wait": {}}] * 61,
    ],
)
def test_steps_that_no_page_sends_are_refused(steps):
    with pytest.raises(RefusedMessageError):
        parse(json.dumps({"v": 2, "n": 1, "t": "dance", "act": "play", "steps": steps}))


def robot_settings(robot):
    refused, logged = [], []
    kept = RobotFileSettings(PlainNode(), str(robot), lambda *m: refused.append(m), lambda *e: logged.append(e))
    return kept, refused, logged


def test_battery_and_gait_are_written_into_the_robot_file_and_taken_back(tmp_path):
    path = tmp_path / "mine.yaml"
    before = resolve("freenove").read_text().replace("name: freenove", "name: mine")
    path.write_text(before)
    kept, refused, logged = robot_settings(path)
    kept.execute(3, ProfileMessage("robot", "", "wave", {"warn": 11.0, "critical": 10.0}))
    _, key, values = logged[-1]
    assert (refused, key, values["file"]) == ([], "log_robot_file", "mine.yaml")
    assert (tmp_path / values["backup"]).read_text() == before
    written = load(path)
    assert (servo_settings(written).battery.warn, written.robot.walk.gait) == (11.0, "wave")
    assert path.read_text().count("#") == before.count("#")
    kept.execute(3, ProfileMessage("restore", ""))
    assert path.read_text() == before
    kept.execute(3, ProfileMessage("robot", "", "", {"warn": 9.0, "critical": 10.0}))
    told = refused[-1][2]
    assert "must be above critical" in told["text"] and path.read_text() == before
    assert told["texts"]["de"].endswith("muss über critical liegen, sind die beiden vertauscht?")
    assert told["texts"]["en"].endswith("must be above critical, are the two swapped?")


def test_the_file_of_a_robot_of_the_package_is_not_written_and_the_remedy_is_told():
    kept, refused, logged = robot_settings("phantomx")
    kept.execute(3, ProfileMessage("robot", "", "wave", {"warn": 11.0, "critical": 10.0}))
    assert "copy it first" in refused[-1][2]["text"] and logged == []
