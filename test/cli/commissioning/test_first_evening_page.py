# SPDX-License-Identifier: Apache-2.0
"""The first evening on a page: a person answers over HTTP, makes mistakes, presses STOP, and goes on after a kill."""

import asyncio
import http.client
import json
import re
import time

import pytest
from support.kits.first_user import FirstUser
from support.kits.memory_wire import Kit
from support.kits.operator import is_about, words
from support.kits.paged_evening import BOUND_S, PagedEvening
from support.phantomx import LEGS, lying, robot

from hexapod_control.cli.commissioning.first_page import FirstPage
from hexapod_control.cli.commissioning.page_dialog import PageDialog
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.dialog import Prompt
from hexapod_control.servos.commissioning.stages import CommissioningProgress, StageMachine
from hexapod_control.servos.settings.servo_section import servo_settings

pytestmark = pytest.mark.usefixtures("memory_time")

ONLY = ["supply", "joints", "calibration", "limits", "pose"]


class Client:
    """One window of the page."""

    def __init__(self, url, window):
        self.host, self.word = re.match(r"http://(.+)/#(.+)", url).groups()
        self.window, self.connection = window, http.client.HTTPConnection(self.host, timeout=BOUND_S)

    def post(self, act, **fields):
        """The status and the reply."""
        body = json.dumps({"act": act, "window": self.window, **fields})
        headers = {"Origin": f"http://{self.host}", "Authorization": f"Bearer {self.word}"}
        self.connection.request("POST", "/request", body, headers)
        response = self.connection.getresponse()
        text = response.read().decode()
        return response.status, json.loads(text) if response.status == 200 else text

    def view(self, act="show", **fields):
        status, view = self.post(act, **fields)
        assert status == 200, view
        return view

    def until(self, condition):
        """The first view that fulfils a condition."""
        view, deadline = self.view(), time.monotonic() + BOUND_S
        while not condition(view):
            assert time.monotonic() < deadline, view
            view = self.view(seen=view["seen"])
        return view

    def question(self, after=0):
        return self.until(lambda view: "end" in view or (view["prompt"] and view["number"] > after))

    def answer(self, user, last="the_end"):
        """Answers prompts as a user does, up to one with the words `last`, or to the end.

        Every answer is that of a button, a joint and a direction, or a text where one is asked.
        """
        view = self.question()
        while "end" not in view and not is_about(Sentence.from_json(view["prompt"]["text"]), last):
            assert view["pictures"] and view["leads"]
            prompt = view["prompt"]
            asked = Prompt(Sentence.from_json(prompt["text"]), joint=tuple(prompt["joint"]))
            answer = user.answer_to(asked) or prompt["choices"][0]["answer"]
            typed = prompt["typed"] != "nothing" or view["begins"]
            assert typed or answer in [choice["answer"] for choice in prompt["choices"]], prompt
            self.view("answer", number=view["number"], text=answer)
            view = self.question(view["number"])
        return view


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "mine.yaml"
    made.write_text(resolve("phantomx").read_text())
    return made


def is_mounted_as(path, kit):
    found = [(joint.id, joint.direction) for joint in servo_settings(load(path)).joints]
    return found == [(joint.id, joint.direction) for joint in kit.mounted]


def said(view):
    """The kinds and values of all that was said."""
    return set().union(*(words(Sentence.from_json(text)) for kind, text in view["record"] if kind == "said"))


@pytest.fixture(params=[False, True], ids=["as written", "reworded"])
def sentences_reworded(request, monkeypatch):
    """All sentences are said in other words: nothing but people may depend on a text."""
    if request.param:
        monkeypatch.setattr(Sentence, "__str__", lambda self: f"({self.kind[::-1]})")


def test_mistakes_are_named_stop_takes_the_torque_off_and_a_killed_program_goes_on(path, capsys, sentences_reworded):
    kit = Kit(start=lying().ravel().tolist(), changes=[(4, {"direction": -1})])
    user = FirstUser(kit, [("voltage", "24"), ("which_joint 8", "lr tibia +"), ("which_joint 9", "lr femur +")])
    program = PagedEvening(kit, path, capsys, ONLY)
    window = Client(program.url, "one")
    view = window.answer(user, "which_joint 10")
    assert {"wrong_voltage", "24", "AX-12A"} <= said(view)
    assert [each["result"]["values"]["volts"] for each in view["stages"] if each["key"] == "supply"] == ["11.1"]
    assert view["prompt"]["typed"] == "signed joint" and view["legs"] == list(LEGS)
    assert view["prompt"]["choices"][0]["answer"] == "right_front coxa +"
    program.killed = True
    window.view("answer", number=view["number"], text="r")
    program.end()

    program = PagedEvening(kit, path, capsys, ONLY)
    window = Client(program.url, "one")
    view = window.answer(user, "which_joint 10")
    asked = [words(Sentence.from_json(text)) for kind, text in view["record"] if kind == "asked"]
    assert any({"continue", "wiggle", "9"} <= each for each in asked)
    other = Client(program.url, "two")
    assert not other.view("answer", number=view["number"], text="quit")["leads"]
    assert window.question()["number"] == view["number"] and kit.world.torques.any()
    other.view("stop")
    view = other.until(lambda view: view["begins"])
    assert [choice["label"]["kind"] for choice in view["prompt"]["choices"]] == ["begin_stage", "skip_stage"]
    assert {"stopped", "torque_off_sent"} <= said(view) and not kit.world.torques.any()
    assert other.view("lead")["leads"] and not window.view()["leads"]
    view = other.answer(user)
    assert view["end"]["kind"] == "robot_walks"
    program.end()
    assert is_mounted_as(path, kit)


FOREIGN = [
    {"act": "write"},
    {"act": "answer", "text": 3},
    {"act": "show", "window": ""},
    {"act": "answer", "text": "x" * 300},
]


@pytest.mark.parametrize("fields", FOREIGN)
def test_a_request_of_no_page_is_refused_and_no_answer(path, fields):
    dialog = PageDialog(robot())
    page = FirstPage(path.name, LEGS, dialog, StageMachine(CommissioningProgress()))
    with pytest.raises(ValueError, match="the request: its"):
        asyncio.run(page.reply({"window": "one", **fields}))
    assert not dialog.record and not dialog.stopping
