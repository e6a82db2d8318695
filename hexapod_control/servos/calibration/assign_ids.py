"""Assigns ids to new servos, one after the other: all have the same factory id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hexapod_control.servos.bus.bus_interface import Bus, BusError
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration.dialog import Abandoned, Dialog
from hexapod_control.servos.settings.joint_calibration import JointCalibration

USUAL_IDS = range(33)  # searched first: robots use small ids
USUAL_TRIES = 2  # pings of each of them: on a busy computer a reply may be late
HELP = (
    "Each servo gets the id of its joint, the highest id first, so that a new servo, which has id 1, can be connected\n"
    "beside those that have their ids already. Connecting one servo alone is just as good. s skips a servo."
)


class IdAssignment:
    """Asks for the servos of a robot one by one and writes their ids; those with the id of their joint are skipped."""

    def __init__(
        self,
        bus: Bus,
        joints: Sequence[JointCalibration],
        ids: range,
        dialog: Dialog,
        draw: Callable[[int], str],
    ) -> None:
        """`ids` are those that the protocol supports; `draw` returns a picture of the joint of a row, as text."""
        self._bus, self._ids, self._dialog, self._draw = bus, ids, dialog, draw
        self._rows = sorted(range(len(joints)), key=lambda row: -joints[row].id)
        self._joints = joints
        self._shown = ""  # the last picture

    def run(self) -> None:
        """Assigns all ids. Raises Abandoned if the operator quits."""
        self._dialog.say(f"\n{HELP}")
        assigned = self._bus.scan([joint.id for joint in self._joints if joint.id != 1], 2)
        index = 0
        while index < len(self._rows):
            row = self._rows[index]
            if self._joints[row].id in assigned:
                assigned.pop(self._joints[row].id)
                index += 1
                continue
            index = max(0, index + self._ask_for_servo(row, index))

    def _ask_for_servo(self, row: int, index: int) -> int:
        """Asks for the servo of a row and writes its id. Returns the number of rows to advance."""
        joint = self._joints[row]
        name = joint.short_name
        picture = self._draw(row)
        if picture != self._shown:
            self._dialog.say(picture)
            self._shown = picture
        answer = self._dialog.ask(
            f"{index + 1}/{len(self._rows)}  connect the servo of {name}: it gets id {joint.id}. Enter afterwards "
        )
        command = words.command(answer)
        if command == words.BACK:
            return -1
        if command == words.QUIT:
            raise Abandoned
        if command == words.HELP:
            self._dialog.say(f"{HELP}\n{words.GENERAL_HELP}")
            return 0
        if answer.lower() in ("s", "skip"):
            return 1
        try:
            self._dialog.say(f"  {self._assign(joint.id, index)}")
        except BusError as error:
            self._dialog.say(f"  {error}")
            return 0
        return 1

    def _assign(self, wanted: int, index: int) -> str:
        """Finds the new servo and writes its id. Returns a report; raises BusError with the remedy."""
        done = {self._joints[row].id for row in self._rows[:index]}
        found = self._find_new(wanted, done)
        if not found:
            raise BusError(
                "no new servo answers: check its plug and the power supply; if several new ones are connected, they "
                "answer at once and none is understood: connect one"
            )
        if len(found) > 1:
            raise BusError(f"{len(found)} new servos answer, with ids {', '.join(map(str, found))}: connect only one")
        old, model = next(iter(found.items()))
        if old == wanted:
            return f"{model}: has id {wanted} already"
        self._bus.set_id(old, wanted)
        return f"{model}: id changed from {old} to {wanted} and stored in the servo"

    def _find_new(self, wanted: int, done: set[int]) -> dict[int, str]:
        """Ids and models of the servos that answer and have not got their id in this assignment."""
        usual = [i for i in self._ids if (i in USUAL_IDS or i == wanted) and i not in done]
        found = self._bus.scan(usual, USUAL_TRIES)
        return found or self._bus.scan([i for i in self._ids if i not in usual and i not in done], 1)
