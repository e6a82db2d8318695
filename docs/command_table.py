# SPDX-License-Identifier: Apache-2.0
"""Generates the table of docs/reference.md that shows the effect of each command in each state, by trying it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_steps import Choreography, FeetStep, MotionStep, PoseStep
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Robot

TICK_S = 0.04
HALFWAY_S = 0.9  # after which a posture transition or a motion is under way
MAX_TRANSITION_S = 20.0  # time limit for a transition
SETTLE_S = 1.2  # without a change, after which a state counts as final
FORWARD = Twist(0.04, 0.0, 0.0)  # [m/s]
LEANING = BodyPose(pitch=0.05)
LIFT_M = 0.03


def _run(player: MotionPlayer, seconds: float) -> None:
    for _ in range(round(seconds / TICK_S)):
        player.step(TICK_S)


def _lie(player: MotionPlayer) -> None:
    player.planner.set_measured_joints(player.planner.view.lying_joints)
    _run(player, TICK_S)


def _rising(player: MotionPlayer) -> None:
    _lie(player)
    player.planner.stand()
    _run(player, HALFWAY_S)


def _standing(unknown: Planner) -> Planner:
    """Returns a copy of a planner whose robot has stood up."""
    player = MotionPlayer(unknown.copy())
    _lie(player)
    player.planner.stand()
    for _ in range(round(MAX_TRANSITION_S / TICK_S)):
        if player.step(TICK_S).state is RobotState.STANDING:
            break
    return player.planner


def _after(command: Callable[[MotionPlayer], str]) -> Callable[[MotionPlayer], None]:
    def prepare(player: MotionPlayer) -> None:
        command(player)
        _run(player, HALFWAY_S)

    return prepare


def _play(*steps: MotionStep) -> Callable[[MotionPlayer], str]:
    def play(player: MotionPlayer) -> str:
        player.execute(RehearsedMotion(Choreography("motion", "", steps), 1.0))
        return ""

    return play


def _posture(begin: Callable[[Planner], str]) -> Callable[[MotionPlayer], str]:
    """Returns a posture request; as in the node, it waits until a motion has ended."""

    def command(player: MotionPlayer) -> str:
        player.cancel()
        for _ in range(round(MAX_TRANSITION_S / TICK_S)):
            if not player.planner.view.whole_body_move_active:
                break
            player.step(TICK_S)
        return begin(player.planner)

    return command


def _request(begin: Callable[[MotionPlayer], str]) -> Callable[[MotionPlayer], str]:
    """Returns a request; it ends a motion, and is refused if it is not possible at once."""

    def command(player: MotionPlayer) -> str:
        player.cancel()
        return begin(player)

    return command


def _twist(player: MotionPlayer) -> str:
    player.command(FORWARD)
    return ""


def _halt(player: MotionPlayer) -> str:
    player.cancel()
    player.planner.halt()
    player.planner.command(ZERO)
    return ""


def _lift(player: MotionPlayer) -> str:
    x, y = player.planner.view.neutral_footholds()[0]
    return player.planner.guide_foot_over_ground(player.planner.robot.leg_names[0], (x, y, LIFT_M))


# How to bring about each situation, from an unknown pose and from standing.
AT_FIRST: Mapping[str, Callable[[MotionPlayer], None]] = {
    "unknown": lambda player: None,
    "sitting": _lie,
    "rising": _rising,
}
ON_ITS_FEET: Mapping[str, Callable[[MotionPlayer], None]] = {
    "standing": lambda player: None,
    "walking": _after(_twist),
    "moving (a guided leg)": _after(_lift),
    "moving (a motion)": _after(_play(FeetStep({"all": (0.0, 0.0, 0.01)}, 3.0))),
    "sinking": _after(_posture(Planner.sit)),
}
COMMANDS: Mapping[str, Callable[[MotionPlayer], str]] = {
    "`stand`": _posture(Planner.stand),
    "`sit`": _posture(Planner.sit),
    "`recover`": _posture(Planner.recover),
    "`stop`": _halt,
    "`cmd_vel`": _twist,
    "`body_pose`": _request(lambda player: player.planner.request_pose(LEANING)),
    "`foot_command`": _request(_lift),
    "`motion`": _play(PoseStep(pitch=0.05, duration=1.0)),
}


REPEATED = ("`cmd_vel`",)  # published periodically by the source that drives


def transitions(robot: Robot) -> Iterator[tuple[str, str, str]]:
    """Yields (state, command, states of gait_state that follow)."""
    unknown = Planner(robot)
    yield from _transitions(unknown, AT_FIRST)
    yield from _transitions(_standing(unknown), ON_ITS_FEET)


def _transitions(
    planner: Planner, situations: Mapping[str, Callable[[MotionPlayer], None]]
) -> Iterator[tuple[str, str, str]]:
    for situation, prepare in situations.items():
        player = MotionPlayer(planner.copy())
        prepare(player)
        if player.planner.state.value != situation.split(" ")[0]:
            raise AssertionError(f"the robot is {player.planner.state.value}, not {situation}")
        for command, request in COMMANDS.items():
            player = MotionPlayer(planner.copy())
            prepare(player)
            yield situation, command, _outcome(player, request, request if command in REPEATED else None)


def _outcome(
    player: MotionPlayer, request: Callable[[MotionPlayer], str], again: Callable[[MotionPlayer], str] | None
) -> str:
    """Returns the states after a command, or why it was refused; `again` is called in every tick."""
    before = player.planner.state
    refusal = request(player)
    seen, unchanged = [before], 0.0
    for _ in range(round(MAX_TRANSITION_S / TICK_S)):
        player.step(TICK_S)
        if again:
            again(player)
        unchanged = unchanged + TICK_S if player.planner.state is seen[-1] else 0.0
        if unchanged == 0.0:
            seen.append(player.planner.state)
        if unchanged >= SETTLE_S and not player.name and player.planner.view.progress in (0.0, 1.0):
            break
    refusal = refusal or player.refusal
    went = " → ".join(state.value for state in seen[1:])
    refused = f"refused: {refusal}" if refusal else ""
    return "; ".join(part for part in (went, refused) if part) or "stays"
