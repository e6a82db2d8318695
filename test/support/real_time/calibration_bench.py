# SPDX-License-Identifier: Apache-2.0
"""An emulated robot whose servos are mounted in random places and directions, and a person who calibrates it."""

from __future__ import annotations

import json
import math
import os
import random
import select
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
from support.kits.calibrating_user import row_of
from support.kits.operator import Operator
from support.phantomx import LEGS, standing_joints
from support.real_time.programs import PROGRAM

from hexapod_control.cli.main import main
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.calibration_state import REST_POSE
from hexapod_control.servos.calibration.dialog import Prompt
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_section import initials
from hexapod_control.servos.settings.servo_section import standard


class Mounted:
    """Ground truth: which servo turns which joint, in which direction and with which scale."""

    def __init__(self, protocol, file, link, seed=0):
        row = PROTOCOLS[protocol]
        self.robot = load(file).robot
        self.settings = standard(self.robot, protocol, str(link))
        self.smart = protocol in ("feetech_st", "feetech_sc", "dynamixel1", "dynamixel2", "lx16a")
        rng = random.Random(seed)
        ids = list(self.settings.ids)
        rng.shuffle(ids)
        # Hobby servos differ in scale, and no servo has its center exactly at the nominal angle.
        spread, off = (0.0, 0.05) if self.smart else (0.03, 0.03)  # shares of the scale, rad
        self.joints = tuple(
            replace(
                joint,
                id=servo,
                direction=rng.choice((1, -1)),
                q_center=REST_POSE[number % 3],
                center=joint.center + rng.uniform(-off, off) * row.scale.per_rad,
                units_per_rad=row.scale.per_rad * (1.0 + rng.uniform(-spread, spread)),
                units_per_rad_neg=row.scale.per_rad * (1.0 + rng.uniform(-spread, spread)),
            )
            for number, (joint, servo) in enumerate(zip(self.settings.joints, ids, strict=True))
        )
        self.by_id = {joint.id: row for row, joint in enumerate(self.joints)}
        self.world = LagWorld(row.scale, len(ids), lag=0.001, speed=60.0)
        self.device = emulated_device(row.name, self.world, self.settings.ids)
        self.pty = PseudoTerminal(self.device, self.settings.baud, link=link)
        self.crooked = {}  # joint index -> [rad] by which the person misplaces the joint in the rest pose

    def index(self, row):
        """Index in the emulated world of the servo of a joint."""
        return self.settings.ids.index(self.joints[row].id)

    def raw(self, row, angle):
        return self.joints[row].raw(angle)

    def put(self, angles):
        """Turns joints {row: rad} by hand."""
        for row, angle in angles.items():
            assert not self.world.torques[self.index(row)], "a servo with torque cannot be turned by hand"
            self.world.positions[self.index(row)] = self.raw(row, angle)

    def relaxed(self):
        """Whether the torque goes off within 10 s, after the bytes that are still on the wire."""
        deadline, pause = time.monotonic() + 10.0, threading.Event()
        while self.world.torques.any() and time.monotonic() < deadline:
            pause.wait(0.005)
        return not self.world.torques.any()

    def errors(self, joints):
        """Largest error [rad] of each joint calibration within the joint limits."""
        worst = []
        for row, (found, true) in enumerate(zip(joints, self.joints, strict=True)):
            assert (found.id, found.direction) == (true.id, true.direction), found.joint
            angles = np.linspace(true.lower * 0.6, true.upper * 0.6, 7)
            worst.append(max(abs(found.angle(self.raw(row, angle)) - angle) for angle in angles))
        return worst


class Person(Operator):
    """Answers the questions of the calibration guide from the ground truth."""

    def __init__(self, mounted, measure=()):
        super().__init__()
        self.mounted, self.measure = mounted, measure
        self.jogged = None

    def answer_to(self, prompt, meanwhile=None):
        if meanwhile:
            for _ in range(2):
                meanwhile()
        return super().answer_to(prompt, meanwhile)

    def on_which_joint(self, prompt, meanwhile):
        row = self.mounted.by_id[int(prompt.text.values["id"])]
        sign = "+" if self.mounted.joints[row].direction > 0 else "-"
        return f"{initials(LEGS[row // 3])} {JOINTS[row % 3]} {sign}"

    def on_hold_pose(self, prompt, meanwhile):
        if len(prompt.joint) == 1:
            leg = LEGS.index(prompt.joint[0])
            rows = range(3 * leg, 3 * leg + 3)
            self.mounted.put({row: REST_POSE[row % 3] + self.mounted.crooked.get(row, 0.0) for row in rows})
        else:
            degrees = prompt.text.values["pose"].values["degrees"]
            self.mounted.put({row_of(prompt): math.radians(round(float(degrees)))})

    def on_turn_by_hand(self, prompt, meanwhile):
        mounted, row = self.mounted, row_of(prompt)
        mounted.put({row: mounted.joints[row].angle(mounted.world.positions[mounted.index(row)]) + 0.35})

    def on_put_on_table(self, prompt, meanwhile):
        self.mounted.put(dict(enumerate(standing_joints().ravel().tolist())))

    def on_move_far(self, prompt, meanwhile):
        return "y"  # it is meant

    def on_copy_leg(self, prompt, meanwhile):
        return "" if self.mounted.smart else "n"  # every hobby servo has a scale of its own

    def on_measure_scale(self, prompt, meanwhile):
        return "y" if "scale" in self.measure else "n"

    def on_measure_limits(self, prompt, meanwhile):
        return "y" if "limits" in self.measure else "n"

    def on_jog(self, prompt, meanwhile):
        """Jogs once to the right place, then presses Enter."""
        row, target = row_of(prompt), prompt.text.values["target"]
        if self.jogged == (row, target):
            self.jogged = None
            return ""
        self.jogged = (row, target)
        if target.kind == "at_angle":
            angle = math.radians(float(target.values["degrees"]))
        else:  # one of the names of the rest pose
            angle = REST_POSE[row % 3] + self.mounted.crooked.get(row, 0.0)
        return f"{round(self.mounted.raw(row, angle)) - round(float(prompt.text.values['position'])):+d}"


ANNOUNCED = f"""
import json, os, sys
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
given, shown = int(sys.argv.pop(1)), TerminalDialog.answer_to

def answer_to(dialog, prompt, meanwhile=None):
    os.write(given, (json.dumps(prompt.as_json()) + chr(10)).encode())
    return shown(dialog, prompt, meanwhile)

TerminalDialog.answer_to = answer_to
{PROGRAM}
"""


def prompt_of(described):
    """The prompt that another program has described as JSON; it can be answered, but not read."""
    return Prompt(Sentence.from_json(described["text"]), joint=tuple(described["joint"]))


LIMIT = 25.0  # [s] for a whole calibration
PACE = ("--pace", "50")


def calibrate_here(monkeypatch, person, *arguments):
    """`hexapod calibrate` in this process, answered by a person. Returns its exit code."""

    def answer_to(dialog, prompt, meanwhile=None):
        return person.answer_to(prompt, meanwhile)

    monkeypatch.setattr(TerminalDialog, "answer_to", answer_to)
    return main(["calibrate", *PACE, *arguments])


class Command:
    """`hexapod calibrate` in a process of its own; a person answers what is typed into its standard input.

    The process writes each prompt as JSON into a pipe, before it is printed.
    """

    def __init__(self, person, *arguments):
        self.person = person
        self._prompts, given = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", ANNOUNCED, str(given), "calibrate", *PACE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[given],
        )
        os.close(given)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def run(self):
        deadline, received = time.monotonic() + LIMIT, b""
        open_pipes = [self.process.stdout, self._prompts]
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text[-600:]
            ready = select.select(open_pipes, [], [], 0.1)[0]
            if self.process.stdout in ready:
                self.text += (self.process.stdout.read() or b"").decode()
            if self._prompts in ready:
                data = os.read(self._prompts, 65536)
                if not data:
                    open_pipes.remove(self._prompts)
                received += data
                while b"\n" in received:
                    line, _, received = received.partition(b"\n")
                    self.write(self.person.answer_to(prompt_of(json.loads(line))))
        self.text += (self.process.stdout.read() or b"").decode()
        self.process.stdin.close()
        os.close(self._prompts)
        return self.process.returncode

    def write(self, answer):
        self.process.stdin.write(f"{answer}\n".encode())
        self.process.stdin.flush()
