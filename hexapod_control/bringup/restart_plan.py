"""Which node is started again after it has ended, when, and with which parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hexapod_control.bringup.node_graph import NodeSpec, ParameterValue

DELAYS_S = (0.5, 1.0)  # before the first and the second restart within PERIOD_S; the next crash ends the graph
PERIOD_S = 60.0
LEAD_S = 1.0  # by which a node starts before those that are restarted with it
INVALID_INPUT = 2  # exit code of a node that refuses its parameters, as it would the next time


@dataclass(frozen=True, slots=True)
class RestartRule:
    """What happens after a node has ended without a request."""

    effect: str = "the robot keeps going"
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)  # that differ from those at the start
    final: frozenset[int] = frozenset({INVALID_INPUT})  # exit codes after which the graph ends
    companions: tuple[str, ...] = ()  # nodes that are killed and restarted with it


RULES: Mapping[str, RestartRule | None] = {  # None: the graph ends
    "gait_planner": RestartRule("the robot holds, and walks again on command", {"stand_on_start": False}),
    # A planner would walk on without it, so that planned and real feet are apart when it is back.
    "inverse_kinematics": RestartRule("the robot holds, and walks again on command", companions=("gait_planner",)),
    # It cannot know whether torque is wanted: an emergency stop may have been latched. Exit code 0: the torque is off.
    "servo_driver": RestartRule(
        "the servos hold their last goals; call arm, then stand",
        {"arm_on_start": False, "assume_lying": False},
        frozenset({0, INVALID_INPUT}),
    ),
    "mujoco_sim": None,  # the world has gone with it
}


def rule(executable: str) -> RestartRule | None:
    """The rule of a node; most nodes do not move joints."""
    return RULES.get(executable, RestartRule())


def restarted(spec: NodeSpec) -> NodeSpec:
    """A node as it is started again."""
    found = rule(spec.executable)
    return replace(spec, parameters={**spec.parameters, **found.parameters}) if found else spec


class RestartPlan:
    """Counts the crashes of each node of one graph."""

    def __init__(self) -> None:
        self._crashes: dict[str, list[float]] = {}  # [s] steady times of the last PERIOD_S

    def delay(self, executable: str, code: int, now: float) -> float | None:
        """Notes that a node ended with an exit code at a steady time [s]: when to restart it [s]; None: never."""
        found = rule(executable)
        if found is None or code in found.final:
            return None
        recent = [then for then in self._crashes.get(executable, ()) if now - then < PERIOD_S]
        self._crashes[executable] = [*recent, now]
        return DELAYS_S[len(recent)] if len(recent) < len(DELAYS_S) else None

    def crashes(self, executable: str) -> int:
        """How often a node has crashed lately; 0 if its crashes do not count."""
        return len(self._crashes.get(executable, ()))


def report(executable: str, how: str, delay: float) -> str:
    """The sentence about a restart; `how` the node ended."""
    found = rule(executable) or RestartRule()
    together = "".join(f" with {companion}" for companion in found.companions)
    return f"{executable} died with {how}: it starts again{together} in {delay:g} s; {found.effect}"
