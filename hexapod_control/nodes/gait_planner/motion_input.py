"""Motions by name or file: loaded, rehearsed between the ticks of the control loop, and handed to the player.

core.motions.motion_state defines what `motion_state` reports about a motion.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.config.motions.motion_library import known_motions, load_motion
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_state import (
    CANCELLED,
    DONE,
    REFUSED,
    REHEARSE,
    MotionState,
    as_word,
    in_steps,
)
from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.planner.planner import NO_POSE
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND, LATCHED

HELD = 0.5  # [s] for which `motion_state` tells how a motion has ended
PERCENT = 2  # steps in which it counts
OF_THE_POSTURE = ("pack", "unpack")  # motions with a service of their own


class _RehearsalTask(NamedTuple):
    """A motion that is being rehearsed."""

    text: str  # as it was asked for
    name: str
    rehearsal: MotionRehearsal


class MotionInput:
    """The topic `motion` and the services `cancel_motion`, `pack` and `unpack`."""

    def __init__(self, node: GuardedNode, player: MotionPlayer, ended: Callable[[], None]) -> None:
        """`ended` is called when the player has nothing to play any more."""
        self._node, self._player, self._ended = node, player, ended
        self._trial: _RehearsalTask | None = None
        self._rehearsed: dict[str, RehearsedMotion] = {}  # by what was asked for; this node has one robot only
        self._playing = ""  # name of the motion that was played in the last tick
        self._outcome, self._until = "", -math.inf  # how the last one ended, and how long that is told [s, steady]
        self._names = tuple(known_motions())
        self._closed = False
        self._list = node.create_publisher(String, "motions", LATCHED)
        self._list.publish(messages.text(",".join(self._names)))
        node.create_subscription(String, "motion", self.on_motion, COMMAND)
        node.create_service(Trigger, "cancel_motion", self.on_cancel)
        for name in OF_THE_POSTURE:
            node.create_service(Trigger, name, self._service(name))

    @property
    def busy(self) -> bool:
        """True while a motion plays or is rehearsed."""
        return bool(self._player.name) or self._trial is not None

    @property
    def state(self) -> str:
        """What `motion_state` says about a motion; empty while there is none."""
        player = self._player
        if time.monotonic() < self._until:
            return self._outcome
        if player.name:
            return MotionState(as_word(player.name), player.phase or "begin", self._percent).text
        return MotionState(self._trial.name, REHEARSE).text if self._trial else ""

    @property
    def _percent(self) -> int:
        return in_steps(self._player.progress, PERCENT)

    # --- what is asked for --------------------------------------------------------------------------------------

    def on_motion(self, message: Any) -> None:
        """A name or a file to play; an empty text lets the motion finish its cycle and end."""
        if message.data:
            self.play(message.data)
        else:
            self._trial = None
            self._player.stop()

    def on_cancel(self, request: Any, response: Any) -> Any:
        """Ends the motion now."""
        response.success = self.busy
        response.message = "coming to rest, feet in the air go down" if self.busy else "no motion is played"
        self.end()
        return response

    def _service(self, name: str) -> Callable[[Any, Any], Any]:
        def on_service(request: Any, response: Any) -> Any:
            refusal = self.play(name)
            response.success = not refusal
            response.message = refusal or f"{name} is rehearsed first, motion_state tells when it is done"
            return response

        return on_service

    def play(self, text: str) -> str:
        """Rehearses a motion, then plays it. Returns why not, or nothing if it is accepted so far."""
        name = as_word(Path(text).stem)
        self._trial = None
        if self._closed:
            return self._refuse(name, "the node ends")
        if self._player.planner.state is RobotState.UNKNOWN:
            return self._refuse(name, NO_POSE)
        robot = self._player.planner.robot
        found = self._rehearsed.get(text)
        if found is None or text not in self._names:  # a file of somebody's own may have changed
            try:
                motion = load_motion(text, robot)
            except (ValueError, OSError) as error:
                return self._refuse(name, str(error))
            if found is None or found.motion != motion:
                self._trial = _RehearsalTask(text, as_word(motion.name), MotionRehearsal(robot, motion))
                return ""
        self._player.execute(found)
        return ""

    def command(self, twist: Twist) -> None:
        """A velocity: one that is not zero takes over from a motion."""
        if not twist.is_zero:
            self.end()
        self._player.command(twist)

    def end(self) -> None:
        """Ends what is played and what is rehearsed: what moves comes to rest, feet in the air go down."""
        if self._trial is not None:
            self._tell(self._trial.name, CANCELLED, 0)
            self._trial = None
        if self._player.name:
            self._tell(as_word(self._player.name), CANCELLED, self._percent)
            self._player.cancel()
            self._ended()
        self._playing = self._player.name

    def close(self) -> None:
        """As `end`; nothing is played any more."""
        self._closed = True
        self.end()

    # --- in every tick --------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Notes how a motion has ended; called after the player's step."""
        player, before = self._player, self._playing
        self._playing = player.name
        if not before or before == player.name:
            return
        if player.refusal:
            self._refuse(as_word(before), player.refusal)
        else:
            self._tell(as_word(before), DONE, 100)
        if not player.name:
            self._ended()

    def rehearse(self, seconds: float) -> None:
        """Goes on with a rehearsal for so long [s], and plays what has passed it."""
        trial, until = self._trial, time.perf_counter() + seconds
        if trial is None:
            return
        try:
            while trial.rehearsal.result is None and time.perf_counter() < until:
                trial.rehearsal.advance(1)
        except MotionError as error:
            self._trial = None
            self._refuse(trial.name, str(error))
            return
        if trial.rehearsal.result is not None:
            self._trial = None
            self._rehearsed[trial.text] = trial.rehearsal.result
            self._player.execute(trial.rehearsal.result)

    def _refuse(self, name: str, reason: str) -> str:
        reason = " ".join(reason.split())
        self._node.report("motion", ReportLevel.WARNING, f"motion {name} refused: {reason}", every=0.0)
        self._tell(name, REFUSED, 0, reason)
        return reason

    def _tell(self, name: str, phase: str, percent: int, reason: str = "") -> None:
        self._outcome, self._until = MotionState(name, phase, percent, reason).text, time.monotonic() + HELD
