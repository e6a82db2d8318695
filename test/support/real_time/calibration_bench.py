"""An emulated robot whose servos are mounted in random places and directions, and a person who calibrates it."""

from __future__ import annotations

import math
import os
import random
import re
import select
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
from support.phantomx import LEGS, standing_joints
from support.real_time.programs import PROGRAM

from hexapod_control.cli.main import main
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.calibration_state import REST_POSE
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
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


class Person:
    """Answers the questions of the calibration guide from the ground truth."""

    def __init__(self, mounted, measure=()):
        self.mounted, self.measure = mounted, measure
        self.shown, self.asked = [], []
        self.jogged = None

    def say(self, text):
        self.shown.append(text)

    def ask(self, question, meanwhile=None):
        self.asked.append(question)
        if meanwhile:
            for _ in range(2):
                meanwhile()
        return self.answer(question.strip())

    def answer(self, question):
        mounted = self.mounted
        if found := re.match(r"servo (\d+): which joint", question):
            row = mounted.by_id[int(found[1])]
            sign = "+" if mounted.joints[row].direction > 0 else "-"
            leg = "".join(part[0] for part in LEGS[row // 3].split("_"))
            return f"{leg} {JOINTS[row % 3]} {sign}"
        if found := re.match(r"(\w+?)_(coxa|femur|tibia) to (.*) \((\d+) us\):", question):
            return self._jog(3 * LEGS.index(found[1]) + JOINTS.index(found[2]), found[3], int(found[4]))
        if found := re.match(r"(\w+): .* Enter when it is there", question):
            rows = range(3 * LEGS.index(found[1]), 3 * LEGS.index(found[1]) + 3)
            mounted.put({row: REST_POSE[row % 3] + mounted.crooked.get(row, 0.0) for row in rows})
            return ""
        if found := re.match(r"(\w+?)_(coxa|femur|tibia) at ([-+]\d+) deg\. Enter", question):
            mounted.put({3 * LEGS.index(found[1]) + JOINTS.index(found[2]): math.radians(float(found[3]))})
            return ""
        if found := re.match(r"turn (\w+?)_(coxa|femur|tibia) by hand, (.*), by about 20 deg", question):
            row = 3 * LEGS.index(found[1]) + JOINTS.index(found[2])
            mounted.put({row: mounted.joints[row].angle(mounted.world.positions[mounted.index(row)]) + 0.35})
            return ""
        if found := re.match(r"turn (\w+?)_(coxa|femur|tibia) by hand", question):
            return ""
        if "flat table" in question:
            mounted.put(dict(enumerate(standing_joints().ravel().tolist())))
            return ""
        if question.startswith("move "):
            return "y"  # a far move is meant
        if question.startswith("copy") and not mounted.smart:
            return "n"  # every servo has a scale of its own
        if found := re.match(r"measure the (\w+) of", question):
            return "y" if found[1] in self.measure else "n"
        return ""  # the default

    def _jog(self, row, what, place):
        """Jogs once to the right place, then presses Enter."""
        if self.jogged == (row, what):
            self.jogged = None
            return ""
        self.jogged = (row, what)
        usual = {"straight out": 0.0, "level": 0.0, "straight down": -90.0}
        if what == "where its foot holds the paper":
            angle = standing_joints().ravel()[row]
        else:
            angle = math.radians(usual[what] if what in usual else float(re.search(r"[-+.\d]+", what)[0]))
            angle += self.mounted.crooked.get(row, 0.0) if what in usual else 0.0
        return f"{round(self.mounted.raw(row, angle)) - place:+d}"


LIMIT = 25.0  # [s] for a whole calibration
PACE = ("--pace", "50")


def calibrate_here(monkeypatch, person, *arguments):
    """`hexapod calibrate` in this process, answered by a person. Returns its exit code."""

    def ask(dialog, question, meanwhile=None):
        return person.ask(question.rpartition("\n")[2], meanwhile)

    monkeypatch.setattr(TerminalDialog, "ask", ask)
    return main(["calibrate", *PACE, *arguments])


class Command:
    """`hexapod calibrate`, answered by a person."""

    def __init__(self, person, *arguments):
        self.person = person
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "calibrate", *PACE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def run(self):
        deadline, seen = time.monotonic() + LIMIT, 0
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text[-600:]
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                self.text += (self.process.stdout.read() or b"").decode()
            question = self.text[seen:].rpartition("\n")[2]
            if question.endswith((" ", ": ")) and question.strip():
                seen = len(self.text)
                self.write(self.person.ask(question))
        self.text += (self.process.stdout.read() or b"").decode()
        self.process.stdin.close()
        return self.process.returncode

    def write(self, answer):
        self.process.stdin.write(f"{answer}\n".encode())
        self.process.stdin.flush()
