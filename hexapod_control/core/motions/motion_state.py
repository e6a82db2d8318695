"""The format of the topic `motion_state`: `name phase percent`, followed by a reason after `refused`.

While a motion plays, the phase is the kind of its step. Before that it is `rehearse`; shortly after the end it is
`done`, `cancelled` or `refused`. Without a motion the text describes the robot's own activity: `walk tripod 40`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
