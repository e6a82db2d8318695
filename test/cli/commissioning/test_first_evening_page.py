"""The first evening on a page: a person answers over HTTP, makes mistakes, presses STOP, and goes on after a kill."""

import asyncio
import http.client
import json
import re
import time

import pytest
from support.kits.first_user import FirstUser
from support.kits.memory_wire import Kit
from support.kits.paged_evening import BOUND_S, PagedEvening
from support.page_messages import not_in_german
from support.phantomx import LEGS, lying

from hexapod_control.cli.commissioning.first_page import FirstPage
from hexapod_control.cli.commissioning.page_dialog import PageDialog
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.servos.commissioning.stages import STAGES, CommissioningProgress, StageMachine
from hexapod_control.servos.commissioning.usual_answers import FORMS
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
        return self.until(lambda view: "end" in view or (view["question"] and view["number"] > after))

    def answer(self, user, last="the end"):
        """Answers questions as a user does, up to one that contains a text, or to the end."""
        view = self.question()
        while "end" not in view and last not in view["question"]:
            assert view["pictures"] and view["leads"]
            self.view("answer", number=view["number"], text=user.ask(view["question"]))
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
    return " ".join(text for kind, text in view["record"] if kind == "said")


def test_mistakes_are_named_stop_takes_the_torque_off_and_a_killed_program_goes_on(path, capsys):
    kit = Kit(start=lying().ravel().tolist(), changes=[(4, {"direction": -1})])
    user = FirstUser(kit, [("Voltage at", "24"), ("servo 8:", "lr tibia +"), ("servo 9:", "lr femur +")])
    program = PagedEvening(kit, path, capsys, ONLY)
    window = Client(program.url, "one")
    view = window.answer(user, "servo 10:")
    assert "24 V is not for AX-12A" in said(view)
    assert [each["result"] for each in view["stages"] if each["key"] == "supply"] == ["11.1 V without load"]
    assert (view["joint"], view["sign"], view["usual"][0]["answer"]) == (True, True, "right_front coxa +")
    program.killed = True
    window.view("answer", number=view["number"], text="r")
    program.end()

    program = PagedEvening(kit, path, capsys, ONLY)
    window = Client(program.url, "one")
    view = window.answer(user, "servo 10:")
    assert "an unfinished calibration was found (wiggle, 9 done)" in str(view["record"])
    other = Client(program.url, "two")
    assert not other.view("answer", number=view["number"], text="quit")["leads"]
    assert window.question()["number"] == view["number"] and kit.world.torques.any()
    other.view("stop")
    view = other.until(lambda view: view["begins"])
    assert [button["label"] for button in view["usual"]] == ["Begin", "Skip this stage"]
    assert "STOP: the torque is off." in said(view) and not kit.world.torques.any()
    assert other.view("lead")["leads"] and not window.view()["leads"]
    view = other.answer(user)
    assert view["end"] == "The robot walks."
    assert not_in_german("first", [text for kind, text in view["record"] if kind == "asked"]) == []
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
    dialog = PageDialog()
    page = FirstPage(path.name, LEGS, dialog, StageMachine(CommissioningProgress()))
    with pytest.raises(ValueError, match="the request: its"):
        asyncio.run(page.reply({"window": "one", **fields}))
    assert not dialog.record and not dialog.stopping


# --- texts ----------------------------------------------------------------------------------------------------


def test_stages_and_buttons_are_complete_in_german():
    texts = [stage.text.replace("\n", " ") for stage in STAGES]
    texts += [text for stage in STAGES for text in (stage.title, stage.otherwise)]
    texts += [button.label for _, form in FORMS for button in form.usual if re.search("[a-z]", button.label)]
    assert not_in_german("first", texts) == []
