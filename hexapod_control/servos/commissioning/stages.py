# SPDX-License-Identifier: Apache-2.0
"""The commissioning stages in their order, and the state machine that selects the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hexapod_control.config.sentence import Sentence

SKIPPED = Sentence("skipped")


class StageError(RuntimeError):
    """A stage has failed, with a sentence of the finding and the remedy. The stage is offered again."""

    def __init__(self, reason: Sentence) -> None:
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Stage:
    """One commissioning stage."""

    key: str
    minutes: int  # usual duration
    picture: str  # one of DRAWINGS

    @property
    def title(self) -> Sentence:
        """Its name."""
        return Sentence(f"title_{self.key}")

    @property
    def text(self) -> Sentence:
        """Instruction and expected result."""
        return Sentence(f"text_{self.key}")

    @property
    def otherwise(self) -> Sentence:
        """Remedy for another result."""
        return Sentence(f"otherwise_{self.key}")


STAGES = (
    Stage("stand", 5, "stand"),
    Stage("bus", 3, "supply"),
    Stage("supply", 5, "supply"),
    Stage("ids", 15, "top"),
    Stage("joints", 12, "top"),
    Stage("calibration", 15, "pose"),
    Stage("limits", 10, "limits"),
    Stage("sensors", 3, "top"),
    Stage("pose", 3, "height"),
    Stage("identify", 3, "stand"),
    Stage("weight", 5, "weight"),
    Stage("stand_up", 3, "weight"),
    Stage("step", 3, "walk"),
    Stage("walk", 3, "walk"),
    Stage("measure", 6, "weight"),
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
