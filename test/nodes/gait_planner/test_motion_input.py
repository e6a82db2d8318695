# SPDX-License-Identifier: Apache-2.0
"""Motions on their topic and services, and the text of motion_state, at times that the test sets."""

from concurrent.futures import Future

import pytest
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.drives import DT, standing_planner
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.config.motion_file import known_motions
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.nodes.gait_planner import motion_input
from hexapod_control.nodes.gait_planner.motion_input import MotionInput, MotionReader
from hexapod_control.ros.guarded_node import ReportLevel

NOD = """
name: nod
description: Yes.
steps:
  - pose: {pitch_deg: 5, duration: 0.2}
  - pose: {pitch_deg: 0, duration: 0.2}
"""


class Pool:
    """Stands in for the thread that reads motions; the test decides when."""

    def __init__(self, **options):
        assert options["max_workers"] == 1
        self.waiting = []

    def submit(self, work, *values):
        self.waiting.append((Future(), work, values))
        return self.waiting[-1][0]

    def read(self):
        """Reads the newest file."""
        future, work, values = self.waiting[-1]
        try:
            future.set_result(work(*values))
        except Exception as error:
            future.set_exception(error)


class Motions:
    """The motions of a planner whose robot stands."""

    def __init__(self, monkeypatch):
        pools = []
        monkeypatch.setattr(
            motion_input, "ThreadPoolExecutor", lambda **options: pools.append(Pool(**options)) or pools[-1]
        )
        self.time = Moment()
        monkeypatch.setattr(motion_input, "time", self.time)
        self.node, self.player = PlainNode(), MotionPlayer(standing_planner("phantomx"))
        self.commands = OperatorCommands(self.player)
        self.input = MotionInput(self.node, self.player, self.commands)
        (self.pool,) = pools

    def ask(self, text):
        self.node.deliver("motion", String(data=text))

    def rehearse(self):
        while self.commands.rehearsing:
            self.input.rehearse(1.0)

    def tick(self, count=1):
        """Plays for so many ticks. Returns the texts of motion_state."""
        shown = []
        for _ in range(count):
            self.player.step(DT)
            self.input.watch()
            self.time.now += DT
            shown.append(self.input.state)
        return shown

    @property
    def report(self):
        return self.node.report_of("motion")

    def call(self, name):
        response = self.node.call(name, Trigger.Request())
        return response.success, response.message


@pytest.fixture
def motions(monkeypatch):
    return Motions(monkeypatch)


def test_the_names_of_all_motions_are_published(motions):
    assert [message.data for message in motions.node.sent("motions")] == [",".join(known_motions())]
    assert motions.input.state == "" and not motions.input.busy and not motions.node.reports


def test_a_motion_is_rehearsed_played_and_its_end_shown_for_half_a_second(motions):
    motions.ask("bow")
    assert motions.input.state == "bow rehearse 0" and motions.input.busy and not motions.player.name
    motions.rehearse()
    shown = []
    while motions.player.name:
        shown += motions.tick()
    assert shown[-1] == "bow done 100" and not motions.input.busy
    percents = [int(text.split()[2]) for text in shown]
    assert percents == sorted(percents) and {percent % 2 for percent in percents} == {0} and len(set(percents)) > 30
    assert shown[0].split()[:2] in (["bow", "begin"], ["bow", "pose"])
    motions.time.now += 0.4
    assert motions.input.state == "bow done 100"
    motions.time.now += 0.1
    assert motions.input.state == "" and not motions.node.reports


def test_a_motion_that_has_passed_plays_at_once_the_next_time(motions):
    motions.ask("bow")
    motions.rehearse()
    motions.ask("bow")
    assert motions.player.waiting == "bow" and not motions.commands.rehearsing


def test_a_rehearsal_takes_no_longer_than_its_time_and_one_tick_of_the_motion(motions, monkeypatch):
    motions.ask("bow")
    steps, advance = [], motions.commands.advance_rehearsal

    def slow():
        steps.append(motions.time.now)
        motions.time.now += 0.004
        return advance()

    monkeypatch.setattr(motions.commands, "advance_rehearsal", slow)
    motions.input.rehearse(0.01)
    assert len(steps) == 3
    motions.input.rehearse(0.0)
    assert len(steps) == 3
    motions.commands.finish_cycle()
    motions.input.rehearse(1.0)
    assert len(steps) == 3


def test_an_unknown_name_is_refused_with_the_nearest_or_with_what_else_to_do(motions):
    known = ", ".join(known_motions())
    own = "play your own file with hexapod play FILE"
    for name, remedy in (("bov", "did you mean bow?"), ("moonwalk", own), ("/etc/passwd", own), ("../wave.yaml", "")):
        motions.ask(name)
        level, text = motions.report
        assert level is ReportLevel.WARNING and remedy in text
        assert text.startswith(f"motion {name} refused: '{name}' is not a known motion, known: {known}, ")
        assert motions.input.state == text.replace(f"motion {name} refused:", f"{name} refused 0")
    assert not motions.input.busy and len(motions.node.reports["motion"]) == 4


def test_while_the_pose_is_unknown_motions_are_refused(motions):
    motions.commands.forget_pose()
    ok, text = motions.call("pack")
    assert not ok and text in motions.report[1] and motions.input.state.startswith("pack refused 0 ")
    motions.ask(MotionRequest(file="nod.yaml", text=NOD).data)
    assert motions.input.state.startswith("nod refused 0 ") and not motions.pool.waiting
    motions.ask("{")
    assert motions.report[1].startswith("motion motion refused: '{' is not JSON")


def test_packing_has_a_service_of_its_own(motions):
    assert motions.call("pack") == (True, "pack is rehearsed first, motion_state reports when it is done")
    assert motions.commands.rehearsing == "pack"
    assert motions.call("unpack")[0] and motions.commands.rehearsing == "unpack"


def test_a_file_is_rehearsed_once_it_is_read(motions):
    motions.ask(MotionRequest(file="nod.yaml", text=NOD).data)
    assert motions.input.state == "nod rehearse 0" and motions.commands.awaited
    motions.input.rehearse(1.0)
    motions.tick()
    assert motions.commands.awaited
    motions.pool.read()
    motions.tick()
    assert motions.commands.rehearsing == "nod" and not motions.commands.awaited
    motions.rehearse()
    assert motions.player.name == "nod"


def test_an_unusable_file_is_refused_unless_a_newer_request_has_replaced_it(motions):
    bad = MotionRequest(file="nod.yaml", text="name: nod\nsteps: []\n").data
    motions.ask(bad)
    motions.pool.read()
    motions.tick()
    assert motions.report[1].startswith("motion nod refused: ") and not motions.commands.rehearsing
    motions.ask(bad)
    motions.ask("")
    motions.pool.read()
    motions.tick()
    assert len(motions.node.reports["motion"]) == 1
    motions.ask(MotionRequest(file="nod.yaml", text=NOD).data)
    motions.ask("")
    motions.pool.read()
    motions.tick()
    assert not motions.input.busy


def test_the_newest_file_counts(monkeypatch):
    pools = []
    monkeypatch.setattr(
        motion_input, "ThreadPoolExecutor", lambda **options: pools.append(Pool(**options)) or pools[-1]
    )
    reader = MotionReader(standing_planner("phantomx").robot)
    assert reader.take() is None
    reader.read(MotionRequest(file="nod.yaml", text=NOD))
    reader.read(MotionRequest(file="other.yaml", text=NOD.replace("nod", "other")))
    assert pools[0].waiting[0][0].cancelled() and reader.take() is None
    pools[0].read()
    assert reader.take().name == "other"
    assert reader.take() is None


def test_cancelling_ends_what_plays_or_is_rehearsed_and_nothing_else(motions):
    assert motions.call("cancel_motion") == (False, "no motion is played")
    motions.ask("bow")
    assert motions.call("cancel_motion") == (True, "coming to rest, feet in the air go down")
    assert motions.tick() == ["bow cancelled 0"] and not motions.input.busy
