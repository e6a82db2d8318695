# SPDX-License-Identifier: Apache-2.0
"""Assigns ids to new servos, one after the other: all have the same factory id."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import leg_and_joint
from hexapod_control.servos.bus.bus_interface import Bus, BusError
from hexapod_control.servos.calibration.dialog import DONE, SKIP, Back, Dialog, Prompt, aside, name
from hexapod_control.servos.settings.joint_calibration import JointCalibration

USUAL_IDS = range(33)  # searched first: robots use small ids
FACTORY_ID = 1
USUAL_TRIES = 2  # pings of each of them: on a busy computer a reply may be late
HELP = Sentence("help_ids")


class IdAssignment:
    """Asks for the servos of a robot one by one and writes their ids; those with the id of their joint are skipped."""

    def __init__(self, bus: Bus, joints: Sequence[JointCalibration], ids: range, dialog: Dialog) -> None:
        """`ids` are those that the protocol supports."""
        self._bus = bus
        self._ids = ids
        self._dialog = dialog
        self._joints = sorted(joints, key=lambda joint: -joint.id)
        self._known: set[int] = set()  # ids of servos that are not new

    def run(self) -> None:
        """Assigns all ids. Raises Back at the first servo, Abandoned if the operator quits."""
        self._dialog.say(Sentence("introduction_ids", help=HELP))
        there = self._bus.scan([joint.id for joint in self._joints], 2)
        if 2 * len(there) < len(self._joints):
            there.pop(FACTORY_ID, None)  # a new servo
        self._known = set(there)
        open_ones = [joint for joint in self._joints if joint.id not in there]
        number = 0
        while number < len(open_ones):
            try:
                number += self._ask_for_servo(open_ones[number], number + 1, len(open_ones))
            except Back:
                if not number:
                    raise
                number -= 1
                self._known.discard(open_ones[number].id)

    def _ask_for_servo(self, joint: JointCalibration, number: int, count: int) -> bool:
        """Asks for the servo of a joint and writes its id. Returns whether that is done, or left out."""
        kind = "connect_servo_alone" if FACTORY_ID in self._known else "connect_servo"
        question = Sentence(kind, number=number, count=count, joint=name(joint.short_name), id=joint.id)
        if self._dialog.ask(Prompt(question, (DONE, SKIP), joint=leg_and_joint(joint.joint)), HELP) is SKIP:
            return True
        try:
            self._dialog.say(self._assign(joint.id))
        except BusError as error:
            self._dialog.say(aside(error))
            return False
        self._known.add(joint.id)
        return True

    def _assign(self, wanted: int) -> Sentence:
        """Finds the new servo and writes its id. Returns a report; raises BusError with the remedy."""
        found = self._find_new(wanted)
        if not found:
            raise BusError(Sentence("no_new_servo"))
        if len(found) > 1:
            raise BusError(Sentence("several_new_servos", count=len(found), ids=", ".join(map(str, found))))
        old, model = next(iter(found.items()))
        if old == wanted:
            return Sentence("has_id", model=model, id=wanted)
        self._bus.set_id(old, wanted)
        return Sentence("id_changed", model=model, old=old, new=wanted)

    def _find_new(self, wanted: int) -> dict[int, str]:
        """Ids and models of the servos that answer and have not got their id yet."""
        usual = [i for i in self._ids if (i in USUAL_IDS or i == wanted) and i not in self._known]
        found = self._bus.scan(usual, USUAL_TRIES)
        found = found or self._bus.scan([i for i in self._ids if i not in usual and i not in self._known], 1)
        if found or FACTORY_ID not in self._known:
            return found
        there = self._bus.scan(self._known, USUAL_TRIES)
        return there if set(there) == {FACTORY_ID} else {}  # alone on the line, it is none of the others
