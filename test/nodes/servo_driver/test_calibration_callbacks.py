# SPDX-License-Identifier: Apache-2.0
"""The services of a calibration with a scripted session: prompts, answers, refusals and outcomes; without servos."""

import json
from types import SimpleNamespace

import pytest
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.kits.plain_node import PlainNode

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.servo_driver import calibration_services
from hexapod_control.nodes.servo_driver.calibration_services import CalibrationServices
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.dialog import Abandoned, yes_or_no
from hexapod_control.servos.calibration.guide import STEPS
from hexapod_control.servos.calibration.remote_dialog import DialogState

NEXT = "calibration/prompt shows what comes next"
HELLO = Sentence.of("hello")
WHICH = yes_or_no(Sentence("which_joint", "which joint?"), True)
NOT_RUNNING = "no calibration is running: call calibration/start"


class Dialog:
    """Stands in for the dialog; `typed` are the answers to come."""

    def __init__(self):
        self.state, self.typed, self.questions, self.answers = DialogState(), [], [], []
        self.cancelled, self.refusal = 0, None

    def ask_again(self, prompt):
        self.questions.append(prompt)
        return prompt.read(self.typed.pop(0))

    def say(self, text):
        self.state = DialogState(self.state.number, None, (*self.state.said, text))

    def answer(self, text):
        self.answers.append(text)
        return self.refusal

    def cancel(self):
        self.cancelled += 1


class Bench:
    """The services, with a driver, a session and a thread that the test controls."""

    def __init__(self, monkeypatch):
        self.dialogs, self.threads, self.returned, self.recalibrated, self.ran = [], [], [], [], []
        self.error = self.silent = None  # of the session, of the bus
        self.protocol, self.refusal, self.pace = "feetech_st", "", None
        self.lease = SimpleNamespace(over="", identify=self._identify)
        self.session = SimpleNamespace(step="wiggle", run=self._run)
        self.driver = SimpleNamespace(
            lend=lambda: self.lease, give_back=self.returned.append, recalibrate=self._recalibrate
        )
        replaced = {
            "load": lambda name: f"file of {name}",
            "own_file": lambda name: f"own {name}",
            "servo_settings": self._settings,
            "CalibrationSession": self._session,
            "RemoteDialog": lambda: self.dialogs.append(Dialog()) or self.dialogs[-1],
            "threading": SimpleNamespace(Thread=self._thread),
        }
        for name, value in replaced.items():
            monkeypatch.setattr(calibration_services, name, value)
        settings = SimpleNamespace(robot="mine", protocol="p", port="wire", calibration_pace=7.0)
        self.node = PlainNode("servo_driver")
        self.services = CalibrationServices(self.node, self.driver, settings)

    def _settings(self, file, protocol, port):
        assert file in ("file of own mine", "file of mine") and (protocol, port) == ("p", "wire")
        return SimpleNamespace(protocol=self.protocol, file=file)

    def _identify(self):
        if self.silent:
            raise self.silent
        return {1: "a servo"}

    def _session(self, lease, there, servos, file, dialog, pace):
        assert (lease, there, file, dialog) == (self.lease, {1: "a servo"}, "file of own mine", self.dialogs[-1])
        self.pace = pace
        return self.session

    def _run(self, steps):
        self.ran.append(steps)
        if self.error:
            raise self.error

    def _recalibrate(self, servos):
        self.recalibrated.append(servos.file)
        if isinstance(self.refusal, Exception):
            raise self.refusal
        return self.refusal

    def _thread(self, target, name, daemon):
        assert (name, daemon) == ("calibration", True)
        self.threads.append(
            SimpleNamespace(run=target, start=lambda: None, join=lambda s: self.ran.append(("join", s)))
        )
        return self.threads[-1]

    def call(self, name):
        response = self.node.call(f"~/calibration/{name}", Trigger.Request())
        return response.success, response.message

    @property
    def dialog(self):
        return self.dialogs[-1]

    @property
    def prompts(self):
        return [json.loads(message.data) for message in self.node.sent("~/calibration/prompt")]

    def finish(self, *typed):
        """Runs the session to its end, with these answers to the question for the steps. Returns the last prompt."""
        self.dialog.typed = [*typed]
        self.threads[-1].run()
        self.services.tick()
        return self.prompts[-1]


@pytest.fixture
def made(monkeypatch):
    return Bench(monkeypatch)


def test_without_a_calibration_every_answer_is_refused(made):
    made.services.tick()
    assert made.prompts == [{"state": "idle"}]
    for name in ("accept", "back", "save", "cancel"):
        assert made.call(name) == (False, NOT_RUNNING)
    made.node.deliver("~/calibration/answer", String(data="lf"))
    text = f"calibration/answer 'lf' ignored: {NOT_RUNNING}"
    assert made.node.report_of("calibration") == (ReportLevel.WARNING, text)
    made.services.close()


def test_the_prompt_is_published_when_it_changes(made):
    assert made.call("start") == (True, NEXT) and made.pace == 7.0
    for state in (
        DialogState(),
        DialogState(1, WHICH, (HELLO,)),
        DialogState(1, WHICH, (HELLO,)),
    ):
        made.dialog.state = state
        made.services.tick()
    rest = {"step": "wiggle", "progress": 0.0}
    assert made.prompts[1:] == [
        {"state": "working", "question": "", "prompt": None, "said": [], "number": 0, **rest},
        {
            "state": "asking",
            "question": "which joint? [Y/n]",
            "prompt": WHICH.as_json(),
            "said": ["hello"],
            "number": 1,
            **rest,
        },
    ]


def test_answers_go_to_the_dialog_and_its_refusal_comes_back(made):
    made.call("start")
    assert made.call("start") == (False, "a calibration is running: cancel it first")
    assert made.call("accept") == made.call("back") == (True, NEXT)
    made.node.deliver("~/calibration/answer", String(data="lf coxa +"))
    assert made.call("save") == (False, "not all steps are done: answer their questions, or cancel and choose fewer")
    made.session.step = "save"
    assert made.call("save") == (True, NEXT)
    assert made.dialog.answers == ["", "b", "lf coxa +", "y"] and not made.node.reports
    made.dialog.refusal = Refusal("no_question", "no question is open")
    assert made.call("accept") == (False, "no question is open")
    made.node.deliver("~/calibration/answer", String(data="x"))
    assert made.node.report_of("calibration")[1] == "calibration/answer 'x' ignored: no question is open"
    assert made.call("cancel") == (True, NEXT) and made.dialog.cancelled == 1


@pytest.mark.parametrize(
    ("typed", "steps"), [((" ",), None), (("",), list(STEPS)), (("rest,wiggle",), ["rest", "wiggle"])]
)
def test_a_saved_calibration_applies_to_the_driver_at_once(made, typed, steps):
    made.call("start")
    made.dialog.state = DialogState(3, None, (Sentence.of("saved to mine.yaml"),))
    prompt = made.finish(*typed)
    assert [prompt.line for prompt in made.dialog.questions] == [f"Which steps? [{','.join(STEPS)}] "]
    assert steps is None or made.ran == [steps]
    assert made.returned == [made.lease] and made.recalibrated == ["file of mine"]
    assert (prompt["state"], prompt["said"], prompt["number"]) == ("saved", ["saved to mine.yaml"], 3)
    assert made.call("accept") == (False, NOT_RUNNING)
    assert made.call("start") == (True, NEXT)


@pytest.mark.parametrize(
    "refusal", [Refusal("other", "other servos"), BusError("other servos"), OSError("other servos")], ids=repr
)
def test_a_driver_that_refuses_the_saved_calibration_has_to_be_restarted(made, refusal):
    made.call("start")
    made.refusal = refusal
    assert made.finish("rest")["said"] == ["restart the driver: other servos"]


@pytest.mark.parametrize(
    ("error", "over", "said"),
    [
        (Abandoned(), None, "nothing was saved: cancelled"),
        (Abandoned(), Refusal("stop", "emergency stop"), "nothing was saved: emergency stop"),
        (BusError("no answer"), None, "nothing was saved: no answer"),
        (OSError("disk full"), None, "nothing was saved: disk full"),
        (KeyError("x"), None, "nothing was saved: KeyError: 'x'; report it"),
    ],
)
def test_a_calibration_that_ends_early_says_why_and_gives_the_bus_back(made, error, over, said):
    made.call("start")
    made.error, made.lease.over = error, over
    prompt = made.finish("rest")
    assert (prompt["state"], prompt["said"]) == ("ended", [said])
    assert made.returned == [made.lease] and not made.recalibrated


def test_unknown_steps_are_explained_and_asked_for_again(made):
    made.call("start")
    made.finish("rets", "rest")
    assert made.ran == [["rest"]] and len(made.dialog.questions) == 2
    assert "must be of wiggle, check, rest" in str(made.dialog.state.said[0])


def test_a_calibration_that_cannot_start_says_why_and_keeps_no_bus(made):
    made.protocol = "loopback"
    assert made.call("start") == (False, "the robot has no servo bus: set protocol and port")
    made.protocol, made.silent = "feetech_st", BusError("nobody answers")
    assert made.call("start") == (False, "nobody answers") and made.returned == [made.lease]
    made.services.tick()
    assert made.prompts == [{"state": "idle"}]


def test_a_driver_that_takes_the_bus_back_or_ends_cancels_the_dialog(made):
    made.call("start")
    made.services.tick()
    assert not made.dialog.cancelled
    made.lease.over = "emergency stop"
    made.services.tick()
    assert made.dialog.cancelled == 1
    made.services.close()
    assert made.dialog.cancelled == 2 and made.ran == [("join", 3.0)]
