"""A user of the calibration with emulated servos in memory."""

import re

from support.phantomx import LEGS, robot

from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.guide import CalibrationGuide


class User:
    """Turns the joint that is asked, and takes every default; `answers` come first, by a word of the question."""

    def __init__(self, kit, answers=()):
        self.kit, self.answers = kit, list(answers)
        self.asked, self.said = [], []

    def say(self, text):
        self.said.append(text)

    def ask(self, question, meanwhile=None):
        self.asked.append(question)
        if found := re.match(r"turn (\w+)_(coxa|femur|tibia) by hand", question):
            self.kit.turn(3 * LEGS.index(found[1]) + JOINTS.index(found[2]), 0.35)
        for answer in self.answers:
            if answer[0] in question:
                self.answers.remove(answer)
                return answer[1]() or "" if callable(answer[1]) else answer[1]
        return "y" if question.startswith("  move ") else ""  # a far move is meant

    def shown(self, text):
        return [line for line in (*self.said, *self.asked) if text in line]


def run(kit, user, steps, joints=None):
    """The calibrations after these steps."""
    return guided(kit, user, steps, joints).joints


def guided(kit, user, steps, joints=None):
    """A guide after these steps."""
    guide = CalibrationGuide(robot(), joints or kit.settings.joints, kit.jogger(kit.bus()), user)
    guide.run(kit.settings.ids, steps)
    return guide
