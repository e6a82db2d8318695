# SPDX-License-Identifier: Apache-2.0
"""The formats of the topics `motion_state` and `motion`.

A `motion_state` is `name phase percent`, followed by a reason after `refused`.

While a motion plays, the phase is the kind of its step. Before that it is `rehearse`; shortly after the end it is
`done`, `cancelled` or `refused`. Without a motion the text describes the robot's own activity: `walk tripod 40`.

A `motion` is the name of a motion, or the content of a motion file as JSON.

JSON: `{"file": "my_motion.yaml", "text": "name: my_motion ..."}`. The file name is only used in messages. The sender
reads the file, as `hexapod play` does, so that nodes never open a path from a message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.names import quoted
from hexapod_control.core.planner.tick_plan import RobotState

REHEARSE = "rehearse"
DONE = "done"
CANCELLED = "cancelled"
REFUSED = "refused"
END_PHASES = (DONE, CANCELLED, REFUSED)
NO_MOTION = "none"
STATE_NAMES: Mapping[RobotState, str] = {  # names while the robot moves without a motion
    RobotState.RISING: "stand_up",
    RobotState.SINKING: "sit_down",
    RobotState.WALKING: "walk",
    RobotState.MOVING: "move",
}
MAX_NAME_LENGTH = 60


@dataclass(frozen=True, slots=True)
class MotionState:
    """Progress of a motion or, without one, of the robot's own activity."""

    name: str  # a single word
    phase: str  # a single word
    percent: int = 0
    reason: str = ""  # after a refusal

    @classmethod
    def parse(cls, text: str) -> MotionState:
        """Parses the data of a message; missing parts are empty or 0."""
        name, phase, percent, reason = [*text.split(" ", 3), "", "", "", ""][:4]
        return cls(name, phase, int(percent) if percent.isdigit() else 0, reason)

    @property
    def text(self) -> str:
        """The data of the message."""
        return f"{self.name} {self.phase} {self.percent}{f' {self.reason}' if self.reason else ''}"

    @property
    def has_motion(self) -> bool:
        """True if it describes a motion, not the robot's own activity."""
        return self.name not in ("", NO_MOTION, *STATE_NAMES.values())

    @property
    def ended(self) -> bool:
        """True if the motion has just ended, for any reason."""
        return self.phase in END_PHASES


def own_activity(state: RobotState, phase: str, percent: int) -> MotionState:
    """Returns the robot's own activity in a state; the phase is the gait or the state."""
    return MotionState(STATE_NAMES.get(state, NO_MOTION), phase, percent)


def as_word(name: str) -> str:
    """Converts a name to a single word: printable, without blanks, at most MAX_NAME_LENGTH characters."""
    printable = filter(str.isprintable, name[: 4 * MAX_NAME_LENGTH])
    return "_".join("".join(printable).split())[:MAX_NAME_LENGTH] or "motion"


def percent_in_steps(progress: float, step: int) -> int:
    """Converts a progress in [0, 1] to percent, rounded down to multiples of `step`."""
    return int(100 * progress / step) * step


MAX_TEXT_LENGTH = 64_000  # characters of a motion file
MAX_REQUEST_LENGTH = 2 * MAX_TEXT_LENGTH  # characters, with the escapes of JSON
# characters
MAX_REQUESTED_NAME = 60
MAX_FILE_LENGTH = 300
FORMAT = 'send a name, or a motion file as {"file": NAME, "text": CONTENT}'


@dataclass(frozen=True, slots=True)
class MotionRequest:
    """A requested motion, by name or as the content of a file."""

    name: str = ""
    file: str = ""  # for messages
    text: str = ""  # of the file; empty: the motion with the name

    @classmethod
    def parse(cls, data: str) -> MotionRequest:
        """Parses the data of a message. Raises MotionError for an invalid one."""
        if len(data) > MAX_REQUEST_LENGTH:
            raise MotionError(f"the request has {len(data)} characters, at most {MAX_REQUEST_LENGTH} are accepted")
        if not data.startswith("{"):
            if len(data) > MAX_REQUESTED_NAME or not data.isprintable():
                raise MotionError(f"{quoted(data)} is not a name of at most {MAX_REQUESTED_NAME} characters: {FORMAT}")
            return cls(name=data)
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError):
            raise MotionError(f"{quoted(data)} is not JSON: {FORMAT}") from None
        if set(fields) != {"file", "text"} or not all(isinstance(value, str) for value in fields.values()):
            raise MotionError(f"{quoted(data)} does not have exactly the texts file and text: {FORMAT}")
        if not 0 < len(fields["text"]) <= MAX_TEXT_LENGTH:
            raise MotionError(f"text has {len(fields['text'])} characters, must have 1 to {MAX_TEXT_LENGTH}")
        file = "".join(filter(str.isprintable, fields["file"][-MAX_FILE_LENGTH:]))
        return cls(file=file or "motion", text=fields["text"])

    @property
    def data(self) -> str:
        """The data of the message."""
        return json.dumps({"file": self.file, "text": self.text}, ensure_ascii=False) if self.text else self.name

    @property
    def title(self) -> str:
        """Name for reports: that of the motion, or that of the file without folder and suffix."""
        last = self.file.rpartition("/")[2]
        return self.name or last.rpartition(".")[0] or last
