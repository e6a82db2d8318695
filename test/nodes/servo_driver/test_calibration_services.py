# SPDX-License-Identifier: Apache-2.0
"""The calibrations through a running driver's services: same questions, same file, ended by a loss of torque."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from support.kits.operator import Operator
from support.phantomx import narrow_file
from support.real_time.calibration_bench import Mounted, Person, calibrate_here, prompt_of
from support.real_time.ros_bench import overrides
from support.real_time.wires import LATE, start

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.reality import Reality, reality
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.calibration import identification
from hexapod_control.servos.calibration.self_calibration import undo
from hexapod_control.servos.emulated_robot.robot_emulator import emulate
from hexapod_control.servos.settings.servo_section import servo_settings, standard

STEPS = "wiggle,rest,marks"
MAX_START_TIME_S = 30.0  # for a process to start on a busy machine


class FrontEnd:
    """A driver on emulated servos, and a front end that answers its calibration."""

    def __init__(self, bench, mounted, file, *, alone=False, pace=50.0):
        """`alone` is a driver in a process of its own; `pace` is that of the calibration."""
        self.bench, self.mounted = bench, mounted
        self.prompts = bench.listen(String, "servo_driver/calibration/prompt", LATCHED)
        parameters = {
            "robot": str(file),
            "protocol": mounted.settings.protocol,
            "port": mounted.settings.port,
            "reply_margin": LATE,
            "calibration_pace": pace,
            "arm_on_start": False,
        }
        self.process = start("servo_driver", **parameters) if alone else None
        self.node = None if alone else bench.add(ServoDriverNode(parameter_overrides=overrides(**parameters)))
        bench.until(lambda: self.prompts, MAX_START_TIME_S, "the driver's prompt")
        self._text = bench.publisher(String, "servo_driver/calibration/answer")

    @property
    def prompt(self):
        return json.loads(self.prompts[-1].data)

    def call(self, name, kind=Trigger, request=None):
        return self.bench.call(kind, name, request)

    def calibration(self, name):
        return self.call(f"servo_driver/calibration/{name}")

    def asked(self):
        """The next question."""

        def there():
            assert self.prompt["state"] not in ("ended", "saved"), self.prompt
            return self.prompt["state"] == "asking"

        self.bench.until(there, 20.0, "a question")
        return prompt_of(self.prompt["prompt"])

    def answer(self, text):
        """Answers like a front end: Enter is a button, all other answers are typed."""
        number = self.prompt["number"]
        if text:
            self._text.publish(String(data=text))
        else:
            assert self.calibration("accept").success
        self.bench.until(lambda: self.prompt["number"] > number or self.prompt["state"] in ("saved", "ended"), 20.0)

    def begin(self, steps=STEPS):
        answer = self.calibration("start")
        assert answer.success, answer.message
        self.bench.until(
            lambda: (self.prompt.get("prompt") or {}).get("kind") == "which_steps", 20.0, "the first question"
        )
        self.answer(steps)

    def until_step(self, person, step):
        """A person answers up to a step. Returns all prompts that were seen."""
        seen = []
        while self.prompt["step"] != step:
            prompt = self.asked()
            seen.append(self.prompt)
            self.answer(person.answer_to(prompt))
        return seen

    def end(self):
        """Ends the driver. Returns the output of its process."""
        if self.node in self.bench.nodes:
            self.bench.remove(self.node)
        if self.process is None:
            return ()
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.communicate(timeout=20.0)


@pytest.fixture
def front_end_of(bench):
    """Makes a front end for servos with the settings of a robot file."""
    made = []

    def make(mounted, file, **parameters):
        made.append(mounted.pty.close)
        front_end = FrontEnd(bench, mounted, file, **parameters)
        made.append(front_end.end)
        return front_end

    yield make
    for close in reversed(made):
        close()


@pytest.fixture
def front_end(front_end_of, tmp_path):
    def make(protocol, file, **parameters):
        return front_end_of(Mounted(protocol, resolve(file), tmp_path / "bus"), file, **parameters)

    return make


@pytest.fixture
def own(tmp_path):
    return narrow_file(tmp_path / "mine.yaml")


def person_for(mounted):
    return Person(mounted, measure=() if mounted.smart else ("scale",))


@pytest.mark.parametrize("protocol", ["feetech_st", "ssc32"])
def test_answers_to_the_services_and_in_the_terminal_write_the_same_file(
    protocol, front_end, own, tmp_path, monkeypatch
):
    before = own.read_text()
    front = front_end(protocol, own)
    mounted, bench = front.mounted, front.bench
    assert front.prompt == {"state": "idle"}
    front.begin()
    seen = front.until_step(person_for(mounted), "save")
    assert {prompt["step"] for prompt in seen} == {"wiggle", "rest", "marks"}
    assert not front.calibration("start").success
    assert own.read_text() == before
    assert front.calibration("save").success
    bench.until(lambda: front.prompt["state"] == "saved", 10.0)
    assert mounted.relaxed()
    (backup,) = tmp_path.glob("mine.yaml.*.bak")
    assert backup.read_text() == before and backup.name in front.prompt["said"][-1]
    found = servo_settings(load(own))
    assert max(mounted.errors(found.joints)) < np.radians(0.6)
    front.end()
    mounted.pty.close()
    again = Mounted(protocol, own, tmp_path / "bus")
    again.crooked.update(mounted.crooked)
    try:
        other = narrow_file(tmp_path / "terminal.yaml")
        words = ["--robot", str(other), "--protocol", protocol, "--port", again.settings.port, "--steps", STEPS]
        assert calibrate_here(monkeypatch, person_for(again), *words) == 0
    finally:
        again.pty.close()
    assert own.read_text() == other.read_text()


@pytest.mark.parametrize("how", ["estop", "unplug", pytest.param("exit", marks=pytest.mark.process)])
def test_a_loss_of_torque_ends_the_calibration_with_the_reason(how, front_end, own):
    front = front_end("ssc32", own, alone=how == "exit")
    before = own.read_text()
    front.begin()
    front.until_step(person_for(front.mounted), "rest")
    if how == "estop":
        assert front.call("estop", SetBool, SetBool.Request(data=True)).success
        assert front.mounted.relaxed()
    elif how == "unplug":
        front.mounted.pty.hang_up()
    else:
        text = "".join(front.end())
        assert front.process.returncode == 0 and "Traceback" not in text
        assert front.mounted.relaxed() and own.read_text() == before
        return
    front.bench.until(lambda: front.prompt["state"] == "ended", 10.0)
    last = front.prompt["said"][-1]
    assert last.startswith("nothing was saved: ")
    assert re.search("emergency stop" if how == "estop" else "port|gone|unplugged", last), last
    assert own.read_text() == before


def test_a_shipped_robot_file_is_not_written(front_end):
    front = front_end("feetech_st", "phantomx")
    answer = front.calibration("start")
    assert not answer.success and "copy it first: cp " in answer.message


@pytest.fixture
def held(front_end_of, tmp_path, monkeypatch):
    """A robot with 1.2 deg of play on its stand, that measures in a few seconds: a front end, and its file."""
    short = {
        "STEPS_DEG": (0, 1, 3, 5, 3.5, 1.2, -1, -3.2, 0),
        "STEP_S": 0.2,
        "POSES": 1,
        "stand_sweeps": lambda robot, bounds: [],  # they are slow
    }
    for name, value in short.items():
        monkeypatch.setattr(identification, name, value)
    own = tmp_path / "mine.yaml"
    own.write_text(resolve("phantomx").read_text())
    robot = load(own).robot
    errors = Reality(len(robot.legs), backlash=math.radians(1.2), latency=0.02)
    settings = standard(robot, "feetech_st", str(tmp_path / "bus"))
    emulation = emulate(robot, settings, tmp_path / "bus", errors=errors)
    emulation.world.is_held = True
    mounted = SimpleNamespace(settings=settings, pty=emulation.pty, world=emulation.world)
    return front_end_of(mounted, own, pace=4.0), own


def test_a_robot_on_its_stand_measures_its_servos_and_the_service_save_writes_them(held):
    front, own = held
    before = own.read_text()
    answer = front.calibration("identify")
    assert answer.success, answer.message
    assert front.asked().kind == "on_stand" and front.prompt["step"] == "identify"
    assert not front.calibration("identify").success and not front.calibration("save").success
    assert front.calibration("accept").success
    front.bench.until(lambda: front.prompt["step"] == "save" or front.prompt["state"] == "ended", 90.0, "the result")
    shown = [json.loads(message.data).get("progress", 0.0) for message in front.prompts]
    assert shown == sorted(shown) and len(set(shown)) > 2
    assert front.prompt["state"] == "asking", front.prompt
    assert front.prompt["prompt"]["kind"] == "identify_save"
    assert "left_front_coxa" in "".join(front.prompt["said"]) and not front.mounted.world.torques.any()
    assert own.read_text() == before
    assert front.calibration("save").success
    front.bench.until(lambda: front.prompt["state"] == "saved", 10.0)
    play = np.degrees(reality(load(own).robot, "measured").backlash)
    assert np.median(play) == pytest.approx(1.2, abs=0.4)  # on a busy computer, by few steps
    assert undo(own, Operator()).kind == "self_undone" and own.read_text() == before


@pytest.mark.parametrize("how", ["cancel", "estop"])
def test_an_identification_that_is_stopped_writes_nothing_and_leaves_no_torque(how, held):
    front, own = held
    before = own.read_text()
    lying = front.mounted.world.positions.copy()
    assert front.calibration("identify").success
    front.asked()
    assert front.calibration("accept").success
    front.bench.until(lambda: front.prompt["progress"] > 0.0, 60.0, "a part of the measurement")
    stop = front.calibration("cancel") if how == "cancel" else front.call("estop", SetBool, SetBool.Request(data=True))
    assert stop.success
    front.bench.until(lambda: front.prompt["state"] == "ended", 30.0)
    reason = "cancelled" if how == "cancel" else "the emergency stop is latched"
    assert front.prompt["said"][-1].startswith(f"nothing was saved: {reason}")
    front.bench.until(lambda: not front.mounted.world.torques.any(), 5.0)
    assert own.read_text() == before
    if how == "cancel":  # the legs were moved back before
        assert front.mounted.world.positions == pytest.approx(lying, abs=60)
