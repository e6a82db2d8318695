"""Reports falls, lifted robots, stuck legs and slipping feet, and ends the commands that led to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.mishaps.mishap import MishapKind
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel

LEVELS: Mapping[MishapKind, ReportLevel] = {
    MishapKind.FALLEN: ReportLevel.ERROR,  # after an error, the recorder saves the last minute
    MishapKind.CARRIED: ReportLevel.WARNING,
    MishapKind.STUCK: ReportLevel.ERROR,
    MishapKind.SLOWED: ReportLevel.WARNING,
}


class MishapReports:
    """Reports the mishaps that the planner detects. Life cycle: `watch` in every tick, `repeat` every second."""

    def __init__(
        self, node: GuardedNode, commands: OperatorCommands, planner: Planner, block: Callable[[], None]
    ) -> None:
        """`block` makes the node ignore velocity commands until a zero or a pause."""
        self._node, self._commands, self._planner, self._block = node, commands, planner, block
        self._last: MishapKind | None = None

    def watch(self) -> None:
        """Reports a new mishap; one that stops the robot also ends motions and velocity commands."""
        mishap = self._planner.view.mishap
        kind = mishap.kind if mishap is not None else None
        if kind is self._last:
            return
        self._last = kind
        if kind not in (None, MishapKind.SLOWED):
            self._block()
            self._commands.end_motion()
        self.repeat()

    def repeat(self) -> None:
        """Reports the present mishap again, so that /diagnostics shows it as long as it lasts."""
        mishap = self._planner.view.mishap
        if mishap is not None:
            self._node.report(mishap.kind.value, LEVELS[mishap.kind], mishap.text)
