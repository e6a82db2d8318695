"""Reports falls, lifted robots, stuck legs and slipping feet, and ends the commands that led to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel

LEVELS: Mapping[MishapKind, ReportLevel] = {
    MishapKind.FALLEN: ReportLevel.ERROR,  # after an error, the recorder saves the last minute
    MishapKind.CARRIED: ReportLevel.WARNING,
    MishapKind.STUCK: ReportLevel.ERROR,
    MishapKind.SLOWED: ReportLevel.WARNING,
}
STUCK_PAUSE_S = 4.0  # until the robot tries whether a leg that was stuck is free


class MishapReports:
    """Reports the mishaps that the planner detects. Life cycle: `watch` in every tick, `repeat` every second."""

    def __init__(
        self,
        node: GuardedNode,
        commands: OperatorCommands,
        planner: Planner,
        block: Callable[[], None],
        pause: Callable[[str, str, float], None],
    ) -> None:
        """`block` makes the node ignore velocity commands until a zero or a silence, `pause` until its cause has ended.

        The arguments of `pause` are the cause, the reason to report, and for how long [s].
        """
        self._node, self._commands, self._planner, self._block, self._pause = node, commands, planner, block, pause
        self._last: MishapKind | None = None

    def watch(self) -> None:
        """Reports a new mishap; one that stops the robot also ends motions and velocity commands."""
        mishap = self._planner.view.mishap
        kind = mishap.kind if mishap is not None else None
        if mishap is None or kind is self._last:
            self._last = kind
            return
        self._last = kind
        if mishap.kind is MishapKind.STUCK:
            self._pause(mishap.kind.value, mishap.text, STUCK_PAUSE_S)
        elif mishap.kind is not MishapKind.SLOWED:  # a person has to put the robot on its feet
            self._block()
            self._commands.end_motion()
        self.repeat()

    def repeat(self) -> None:
        """Reports the present mishap again, so that /diagnostics shows it as long as it lasts."""
        mishap = self._planner.view.mishap
        if mishap is not None:
            self._node.report(mishap.kind.value, LEVELS[mishap.kind], mishap.text)
