"""A simulated user of `hexapod first` with an emulated robot: follows the instructions and makes given mistakes."""

from __future__ import annotations

import contextlib
import re

from support.phantomx import LEGS

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.calibration_state import REST_POSE
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.commissioning.commissioning_progress_file import CommissioningProgressFile
from hexapod_control.servos.commissioning.commissioning_session import CommissioningSession
from hexapod_control.servos.commissioning.front_end import TextFrontEnd
from hexapod_control.servos.commissioning.pictured_dialog import PicturedDialog
from hexapod_control.servos.commissioning.stage_actions import StageActions
from hexapod_control.servos.commissioning.stages import BY_KEY, CommissioningProgress, StageMachine
from hexapod_control.servos.line_search import LineFinding

PACE = 50.0


class Bench:
    """The hardware of a first evening: an emulated kit, and programs of the robot that do what they should."""

    def __init__(self, kit):
        self.kit, self.driven, self.opened = kit, [], []

    @contextlib.contextmanager
    def open(self, settings):
        self.opened.append(settings)
        yield self.kit.bus()

    def ports(self):
        return ["/dev/hexapod"]

    def findings(self, port):
        settings = self.kit.settings
        servos = self.kit.bus().scan(settings.ids, 1)
        return [LineFinding(settings.baud, settings.protocol, servos, [] if servos else [1])]

    def drive(self, settings, motion):
        self.driven.append(motion)
        return f"{motion} done"


class FirstUser:
    """Answers every question rightly; `mistakes` are (part of a question, answer or what is done first)."""

    def __init__(self, kit, mistakes=()):
        self.kit, self.mistakes = kit, list(mistakes)
        self.said, self.asked = [], []
        self.rules = (
            (r"Voltage at the plug", lambda found: "11.1 V"),
            (r"it gets id (\d+)\.", self._connect),
            (r"servo (\d+): which joint", self._name),
            (r"turn (\w+)_(coxa|femur|tibia) by hand, ", self._turn),
            (r"^(\w+): coxa .* Enter when it is there", self._rest),
        )

    def say(self, text):
        self.said.append(text)

    def ask(self, question, meanwhile=None):
        self.asked.append(question)
        for mistake in self.mistakes:
            if mistake[0] in question:
                self.mistakes.remove(mistake)
                answer = mistake[1]() if callable(mistake[1]) else mistake[1]
                if answer is not None:
                    return answer
                break
        for pattern, act in self.rules:
            if found := re.search(pattern, question):
                return act(found) or ""
        return ""

    def shown(self, text):
        return [line for line in (*self.said, *self.asked) if text in line]

    def _row(self, found):
        return 3 * LEGS.index(found[1]) + JOINTS.index(found[2])

    def _connect(self, found):
        index = int(found[1]) - 1
        if not self.kit.world.answers(index):
            self.kit.fault(f"plug={index + 1}")

    def _name(self, found):
        row = next(k for k, joint in enumerate(self.kit.mounted) if joint.id == int(found[1]))
        return f"{LEGS[row // 3]} {JOINTS[row % 3]} {'+' if self.kit.mounted[row].direction > 0 else '-'}"

    def _turn(self, found):
        self.kit.turn(self._row(found), 0.35)

    def _rest(self, found):
        for row in range(3 * LEGS.index(found[1]), 3 * LEGS.index(found[1]) + 3):
            self.kit.turn(row, REST_POSE[row % 3] - self.kit.angle(row))


class FirstEvening:
    """One start of the dialog over a kit and a robot file; `machine` has the stages that are done."""

    def __init__(self, kit, path, mistakes=(), stage="", only=(), front_end=None, sleep=lambda seconds: None):
        """`only` these stages are open; the others count as done."""
        self.user, self.bench = FirstUser(kit, mistakes), Bench(kit)
        self.file = CommissioningProgressFile(path)
        if only and not self.file.path.exists():
            settings = kit.settings
            wire = {"protocol": settings.protocol, "port": settings.port, "baud": str(settings.baud)}
            self.file.write(CommissioningProgress({key: "done" for key in BY_KEY if key not in only}, wire, 11.1))
        progress = self.file.read()
        dialog = PicturedDialog(front_end or TextFrontEnd(self.user), load(path).robot)
        self.machine = StageMachine(progress)
        if stage:
            self.machine.repeat(stage)
        acts = StageActions(lambda: load(path), ("", "", 0), progress, self.bench, dialog, PACE, sleep)
        self.session = CommissioningSession(self.machine, acts.by_key, acts.relax, dialog, self.file)

    def run(self):
        with contextlib.suppress(Abandoned):
            self.session.run()
        return self

    @property
    def done(self):
        return list(self.machine.progress.done)
