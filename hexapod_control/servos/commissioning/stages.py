"""The commissioning stages in their order, and the state machine that selects the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hexapod_control.core.sentence import Sentence

SKIPPED = Sentence("skipped", "skipped")


class StageError(RuntimeError):
    """A stage has failed, with a sentence of the finding and the remedy. The stage is offered again."""

    def __init__(self, reason: Sentence) -> None:
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Stage:
    """One commissioning stage."""

    key: str
    title: Sentence
    minutes: int  # usual duration
    picture: str  # one of DRAWINGS
    text: Sentence  # instruction and expected result
    otherwise: Sentence  # remedy for another result


def _stage(key: str, title: str, minutes: int, picture: str, text: str, otherwise: str) -> Stage:
    return Stage(
        key,
        Sentence(f"title_{key}", title),
        minutes,
        picture,
        Sentence(f"text_{key}", text),
        Sentence(f"otherwise_{key}", otherwise),
    )


STAGES = (
    _stage(
        "stand",
        "The robot on a stand",
        5,
        "stand",
        "Put the body on a box so that all feet hang free and can swing, with the switch of the battery in reach.",
        "If a foot touches the table, use a higher box: a leg that pushes itself up tears its horn off.",
    ),
    _stage(
        "supply",
        "The supply voltage",
        5,
        "supply",
        "Switch the supply on and measure the voltage at the plug of a servo with a multimeter.",
        "If it is off, set the regulator or change the battery before any servo is connected.",
    ),
    _stage(
        "bus",
        "Boards and servos",
        3,
        "supply",
        "Connect the adapter or board to this computer. It is probed at all baud rates and with all protocols.",
        "If nothing answers: Is the servo supply on? Do supply and adapter share a ground? Is it a data cable?",
    ),
    _stage(
        "ids",
        "The ids of the servos",
        15,
        "top",
        "Every servo needs an id of its own; new ones all have id 1 and are connected one after the other.",
        "A servo that does not answer alone either has another baud rate (hexapod servos scan --sweep) or is broken.",
    ),
    _stage(
        "joints",
        "Which servo is which joint",
        12,
        "top",
        "Each servo turns a little and you name the joint; then each joint is turned in a known direction, as a check.",
        "If a leg does not move at all, look at its cable; if it hums, a horn or a bracket is jammed.",
    ),
    _stage(
        "calibration",
        "The pose with known angles",
        15,
        "pose",
        "Each leg is brought into a known pose: coxa straight out, femur level, tibia straight down.",
        "If a horn is a tooth off, take it off its servo, put it on again in this pose, and repeat the stage.",
    ),
    _stage(
        "limits",
        "The ends of the joints",
        10,
        "limits",
        "The mechanical stops are measured, so that no servo is driven against them. Enter leaves a leg out.",
        "If a limit is narrower than the robot file asks, narrow joints in the robot file.",
    ),
    _stage(
        "pose",
        "All legs to the standing pose",
        3,
        "height",
        "All legs move slowly into the standing pose in the air: all look alike, left and right as in a mirror.",
        "A leg that points elsewhere has a wrong servo or sign (joints) or was held wrongly (calibration).",
    ),
    _stage(
        "weight",
        "The weight on the feet",
        5,
        "weight",
        "Take the robot from its stand, put it on the floor on its belly, feet beside it. It rises in small steps, "
        "voltage and loads are watched, and it goes down at once if they do not fit.",
        "If the voltage falls, use thicker cables or a stronger regulator; if one joint is loaded, look at its leg.",
    ),
    _stage(
        "stand_up",
        "Stand and sit",
        3,
        "weight",
        "All programs of the robot start. It stands up, the body level, and sits down again.",
        "If it tips or twitches, repeat calibration; docs/troubleshooting.md explains the messages of the programs.",
    ),
    _stage(
        "step",
        "One step",
        3,
        "walk",
        "The robot stands up, makes one step with each leg, and sits down. Feet lift, and none drags.",
        "If a foot drags or legs cross, the sign of a joint or a horn is wrong: repeat joints or calibration.",
    ),
    _stage(
        "walk",
        "A slow walk",
        3,
        "walk",
        "Give it two metres of floor. It walks slowly forward for some seconds, straight, and sits down.",
        "If it walks in a curve, a leg is calibrated wrongly; backwards: front and rear are exchanged.",
    ),
)
BY_KEY: Mapping[str, Stage] = {stage.key: stage for stage in STAGES}


@dataclass(slots=True)
class CommissioningProgress:
    """The results so far."""

    done: dict[str, Sentence] = field(default_factory=dict)  # result of each finished stage, by its key
    wire: dict[str, str] = field(default_factory=dict)  # protocol, port and baud that were found
    voltage: float = 0.0  # [V] measured without load; 0 if unknown


class StageMachine:
    """Selects the present stage. After the last one there is none, until a stage is repeated."""

    def __init__(self, progress: CommissioningProgress) -> None:
        """Starts at the first stage that is not finished."""
        self.progress = progress
        self._index = self._next_open(0)

    @property
    def current(self) -> Stage | None:
        """The present stage; None when all are finished."""
        return STAGES[self._index] if self._index < len(STAGES) else None

    @property
    def number(self) -> tuple[int, int]:
        """Number of the present stage (from 1), and the number of stages."""
        return self._index + 1, len(STAGES)

    def finish(self, result: Sentence) -> None:
        """Ends the present stage with a result for the report, and goes to the next one that is not finished."""
        if self.current is not None:
            self.progress.done[self.current.key] = result
            self._index = self._next_open(self._index + 1)

    def back(self) -> None:
        """Returns to the previous stage and clears its result."""
        self._index = max(0, self._index - 1)
        self.progress.done.pop(STAGES[self._index].key, None)

    def repeat(self, key: str) -> None:
        """Goes to a stage and clears its result."""
        self._index = list(BY_KEY).index(key)
        self.progress.done.pop(key, None)

    def _next_open(self, start: int) -> int:
        """Index of the first unfinished stage from `start` on, else from the beginning; else the number of stages."""
        indices = [*range(start, len(STAGES)), *range(start)]
        return next((k for k in indices if STAGES[k].key not in self.progress.done), len(STAGES))


def report(progress: CommissioningProgress, robot: str, command: str) -> str:
    """The results of all stages as Markdown; `command` continues the commissioning."""
    rows = [f"| {stage.title} | {progress.done.get(stage.key, 'not done')} |" for stage in STAGES]
    lines = [f"# First evening of {robot}", "", "| stage | result |", "|---|---|", *rows, "", "Next time:", ""]
    return "\n".join([*lines, f"    {command}", ""])
