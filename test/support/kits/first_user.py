# SPDX-License-Identifier: Apache-2.0
"""A simulated user of `hexapod first` with an emulated robot: follows the instructions and makes given mistakes."""

from __future__ import annotations

import contextlib
from functools import partial

from support.kits.calibrating_user import row_of
from support.kits.operator import Operator
from support.phantomx import LEGS

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.calibration_state import REST_POSE
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.commissioning.commissioning_progress_file import CommissioningProgressFile
from hexapod_control.servos.commissioning.commissioning_session import CommissioningSession
from hexapod_control.servos.commissioning.stage_actions import StageActions
from hexapod_control.servos.commissioning.stages import BY_KEY, CommissioningProgress, StageMachine
from hexapod_control.servos.line_search import LineFinding

PACE = 50.0
DONE = Sentence.of("done")
MEASURED = ("identify", "measure")  # stages that take minutes, and have tests of their own


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

    def boards(self, port):
        return [0x40]

    def chips(self, bus):
        return {}

    def findings(self, port):
        settings = self.kit.settings
        servos = self.kit.bus().scan(settings.ids, 1)
        return [LineFinding(settings.baud, settings.protocol, servos, [] if servos else [1])]

    def drive(self, settings, motion):
        self.driven.append(motion)
        return Sentence("motion_done", "{motion} done", motion=motion)


class FirstUser(Operator):
    """Answers every question rightly; mistakes are (words of a question, answer or what is done first)."""

    def __init__(self, kit, mistakes=()):
        super().__init__(mistakes)
        self.kit = kit

    def on_voltage(self, prompt, meanwhile):
        return "11.1 V"

    def on_connect_servo(self, prompt, meanwhile):
        servo = int(prompt.text.values["id"])
        if not self.kit.world.answers(servo - 1):
            self.kit.fault(f"plug={servo}")

    def on_which_joint(self, prompt, meanwhile):
        row = next(k for k, joint in enumerate(self.kit.mounted) if joint.id == int(prompt.text.values["id"]))
        return f"{LEGS[row // 3]} {JOINTS[row % 3]} {'+' if self.kit.mounted[row].direction > 0 else '-'}"

    def on_turn_by_hand(self, prompt, meanwhile):
        self.kit.turn(row_of(prompt), 0.35)

    def on_hold_pose(self, prompt, meanwhile):
        if len(prompt.joint) == 1:
            leg = LEGS.index(prompt.joint[0])
            for row in range(3 * leg, 3 * leg + 3):
                self.kit.turn(row, REST_POSE[row % 3] - self.kit.angle(row))


class FirstEvening:
    """One start of the dialog over a kit and a robot file; `machine` has the stages that are done."""

    def __init__(self, kit, path, mistakes=(), stage="", only=(), dialog=None, sleep=lambda seconds: None):
        """`only` these stages are open; the others count as done."""
        self.user, self.bench = FirstUser(kit, mistakes), Bench(kit)
        self.file = CommissioningProgressFile(path)
        if only and not self.file.path.exists():
            settings = kit.settings
            wire = {"protocol": settings.protocol, "port": settings.port, "baud": str(settings.baud)}
            self.file.write(CommissioningProgress({key: DONE for key in BY_KEY if key not in only}, wire, 11.1))
        progress = self.file.read()
        dialog = dialog or self.user
        self.machine = StageMachine(progress)
        if stage:
            self.machine.repeat(stage)
        acts = StageActions(lambda: load(path), ("", "", 0), progress, self.bench, dialog, PACE, sleep)
        measured = {key: partial(self.bench.drive, None, key) for key in MEASURED}
        self.session = CommissioningSession(self.machine, acts.by_key | measured, acts.relax, dialog, self.file)

    def run(self):
        with contextlib.suppress(Abandoned):
            self.session.run()
        return self

    @property
    def done(self):
        return list(self.machine.progress.done)
