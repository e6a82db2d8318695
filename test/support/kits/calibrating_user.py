# SPDX-License-Identifier: Apache-2.0
"""A user of the calibration with emulated servos in memory."""

from support.kits.operator import Operator
from support.phantomx import LEGS, robot

from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.guide import CalibrationGuide


def row_of(prompt):
    """Row of the joint that a prompt is about."""
    leg, joint = prompt.joint
    return 3 * LEGS.index(leg) + JOINTS.index(joint)


class User(Operator):
    """Turns the joint that is asked, and takes every default; means every far move."""

    def __init__(self, kit, answers=()):
        super().__init__(answers)
        self.kit = kit

    def answer_to(self, prompt, meanwhile=None):
        if prompt.kind == "turn_by_hand":
            self.kit.turn(row_of(prompt), 0.35)
        return super().answer_to(prompt, meanwhile)

    def on_move_far(self, prompt, meanwhile):
        return "y"


def run(kit, user, steps, joints=None):
    """The calibrations after these steps."""
    return guided(kit, user, steps, joints).joints


def guided(kit, user, steps, joints=None):
    """A guide after these steps."""
    guide = CalibrationGuide(robot(), joints or kit.settings.joints, kit.jogger(kit.bus()), user)
    guide.run(kit.settings.ids, steps)
    return guide
