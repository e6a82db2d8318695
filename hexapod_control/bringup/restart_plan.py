# SPDX-License-Identifier: Apache-2.0
"""Rules for the restart of nodes that have ended: which ones, after which delay, with which parameters."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hexapod_control.bringup import shared_process
from hexapod_control.bringup.launch_arguments import ParameterValue
from hexapod_control.bringup.node_graph import NodeSpec
from hexapod_control.config.errors import DONE, END_SIGNALS, INVALID_INPUT

DELAYS_S = (0.5, 1.0)  # before the first and the second restart within CRASH_WINDOW_S; the third crash ends the graph
CRASH_WINDOW_S = 60.0
LEAD_S = 1.0  # from the restart of a node to that of its companions
# When all processes are asked to end, a node may get its signal before the program that started it. So a node that ends
# with one of these exit codes counts as crashed only if that program gets no signal within this time.
GRACE_PERIOD_S = 1.0
SHUTDOWN_EXIT_CODES = frozenset({DONE, *(-number for number in END_SIGNALS)})
GUI_PROGRAMS = ("rviz2",)  # programs whose window the user closes to end the graph


@dataclass(frozen=True, slots=True)
class RestartRule:
    """How a node is restarted after an unexpected end."""

    effect: str = "the robot keeps going"  # clause of the report
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)  # replace those of the first start
    final_exit_codes: frozenset[int] = frozenset({INVALID_INPUT})  # after which the graph ends
    companions: tuple[str, ...] = ()  # nodes that are killed and restarted with it


RULES: Mapping[str, RestartRule | None] = {  # None: the graph ends
    "gait_planner": RestartRule("the robot holds, and walks again on command", {"stand_on_start": False}),
    # Without it the planner would walk on, and the planned feet would no longer be where the real feet are.
    "inverse_kinematics": RestartRule("the robot holds, and walks again on command", companions=("gait_planner",)),
    # It must not switch the torque on: an emergency stop may have been latched. Exit code 0: the torque is off.
    "servo_driver": RestartRule(
        "the servos hold their last goals; run hexapod arm, then hexapod stand",
        {"arm_on_start": False, "assume_lying": False},
        frozenset({DONE, INVALID_INPUT}),
    ),
    "mujoco_sim": None,  # the state of the simulated world is lost
    shared_process.ROBOT: RestartRule(
        "the servos hold their last goals; run hexapod arm, then hexapod stand",
        final_exit_codes=frozenset({DONE, INVALID_INPUT}),
    ),
    shared_process.SIMULATION: None,
}


def rule(executable: str) -> RestartRule | None:
    """Returns the rule of a node; None if its end ends the graph. The default is for nodes that do not move joints."""
    return RULES.get(executable, RestartRule())


def restart_spec(spec: NodeSpec) -> NodeSpec:
    """Returns the spec for a restart. For a shared process it merges the restart specs of all its nodes."""
    if spec.executable in shared_process.EXECUTABLES:
        merged = shared_process.merged([restart_spec(part) for part in shared_process.parts(spec.arguments)])
        return replace(merged, namespace=spec.namespace)
    restart = rule(spec.executable)
    return replace(spec, parameters={**spec.parameters, **restart.parameters}) if restart else spec


def grace_period(code: int) -> float:
    """Returns the time [s] after which the end of a node with an exit code counts as unexpected."""
    return GRACE_PERIOD_S if code in SHUTDOWN_EXIT_CODES else 0.0


class RestartPlan:
    """Counts the crashes of the nodes of one graph and decides when they are restarted."""

    def __init__(self) -> None:
        self._crashes: dict[str, list[float]] = {}  # [s] steady times of the last CRASH_WINDOW_S

    def delay(self, executable: str, code: int, now: float) -> float | None:
        """Records that a node ended at steady time `now` [s] with an exit code.

        Returns the delay [s] before its restart, or None if the graph has to end.
        """
        restart = rule(executable)
        if restart is None or code in restart.final_exit_codes:
            return None
        recent = [then for then in self._crashes.get(executable, ()) if now - then < CRASH_WINDOW_S]
        self._crashes[executable] = [*recent, now]
        return DELAYS_S[len(recent)] if len(recent) < len(DELAYS_S) else None

    def crashes(self, executable: str) -> int:
        """Returns the number of recent crashes of a node; 0 for a node that is never restarted."""
        return len(self._crashes.get(executable, ()))


def exit_text(code: int) -> str:
    """Returns an exit code as text, with the name of the signal if one ended the process."""
    name = f" ({signal.Signals(-code).name})" if -code in signal.valid_signals() else ""
    return f"exit code {code}{name}"


def final_report(executable: str, code: int, crashes: int) -> str:
    """Returns the report of the end of a node that ends the graph; `crashes`: its crashes within CRASH_WINDOW_S."""
    if code == INVALID_INPUT:
        return f"{executable} refused to start for the reason above: all other nodes were stopped"
    often = f" (crash {crashes} within {CRASH_WINDOW_S:g} s)" if crashes else ""
    return f"{executable} died with {exit_text(code)}{often}: the robot holds, all other nodes were stopped"


def report(executable: str, code: int, delay: float) -> str:
    """Returns the report of a restart `delay` [s] after an exit code."""
    restart = rule(executable) or RestartRule()
    together = "".join(f" with {companion}" for companion in restart.companions)
    return f"{executable} died with {exit_text(code)}: it starts again{together} in {delay:g} s; {restart.effect}"
