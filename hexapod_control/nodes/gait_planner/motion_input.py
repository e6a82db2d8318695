# SPDX-License-Identifier: Apache-2.0
"""Requests for motions, by name or as the content of a file: parsed in a thread, rehearsed between ticks, then played.

core/motions/motion_topics.py defines the text of the topic `motion_state`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.config.errors import MotionFileError
from hexapod_control.config.motion_file import known_motions, load_motion, load_motion_text
from hexapod_control.config.schema import did_you_mean
from hexapod_control.core.motions.motion_player import MotionEnd, MotionOutcome, MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_steps import Choreography, MotionError
from hexapod_control.core.motions.motion_topics import REHEARSE, MotionRequest, MotionState, as_word, percent_in_steps
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.names import quoted
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.gait_planner.request_input import answer
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND, LATCHED


class MotionReader:
    """Parses one motion at a time in a thread; a newer request replaces a waiting one."""

    def __init__(self, robot: Robot) -> None:
        """The thread starts with the first request."""
        self._robot = robot
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="motion_reader")
        self._reading: Future[Choreography] | None = None  # for the newest request

    def read(self, request: MotionRequest) -> None:
        """Starts to parse a motion; results of earlier requests are dropped."""
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self._pool.submit(load_motion_text, request.file, request.text, self._robot)

    def take(self) -> Choreography | None:
        """Returns the motion once when it is parsed, else None. Raises MotionFileError once if it is invalid."""
        if self._reading is None or not self._reading.done():
            return None
        done = self._reading
        self._reading = None
        return done.result()


MAX_REHEARSED = 32


class RehearsedMotions:
    """The last MAX_REHEARSED motions by name, of one robot."""

    def __init__(self) -> None:
        self._motions: dict[str, RehearsedMotion] = {}

    def add(self, rehearsed: RehearsedMotion) -> None:
        """Stores a motion; it replaces the one with its name, or the oldest one if the cache is full."""
        self._motions.pop(rehearsed.motion.name, None)
        self._motions[rehearsed.motion.name] = rehearsed
        if len(self._motions) > MAX_REHEARSED:
            del self._motions[next(iter(self._motions))]

    def find(self, motion: Choreography) -> RehearsedMotion | None:
        """The rehearsed motion; None if it is not stored, or if its steps have changed since."""
        known = self._motions.get(motion.name)
        return known if known is not None and known.motion == motion else None


OUTCOME_TIME_S = 0.5  # for which `motion_state` shows how a motion has ended
PERCENT_STEP = 2  # resolution of the progress [%]
POSTURE_MOTIONS = ("pack", "unpack")  # motions with their own service


class MotionInput:
    """Serves the topic `motion` and the services `cancel_motion`, `pack` and `unpack`. Lives as long as its node."""

    def __init__(self, node: GuardedNode, player: MotionPlayer, commands: OperatorCommands) -> None:
        """Publishes the names of the shipped motions."""
        self._node = node
        self._player = player
        self._commands = commands
        self._motions = self._loaded()  # by name
        self._reader = MotionReader(commands.robot)
        self._rehearsed = RehearsedMotions()
        # outcome of the last motion, and until when it is shown [s]
        self._outcome = ""
        self._outcome_until = -math.inf
        self.ended: list[MotionOutcome] = []  # ends and refusals of the last tick
        self.read_as = "", ""  # the last file that was read: its name, and that of its motion
        self._list = node.create_publisher(String, "motions", LATCHED)
        self._list.publish(messages.text(",".join(self._motions)))
        node.create_subscription(String, "motion", self.on_motion, COMMAND)
        node.create_service(Trigger, "cancel_motion", self.on_cancel)
        for name in POSTURE_MOTIONS:
            node.create_service(Trigger, name, self._service(name))

    @property
    def busy(self) -> bool:
        """True while a motion plays or is rehearsed."""
        return bool(self._player.name or self._commands.rehearsing)

    @property
    def state(self) -> str:
        """The text of `motion_state`; empty without a motion."""
        player = self._player
        if time.monotonic() < self._outcome_until:
            return self._outcome
        if player.name:
            return MotionState(as_word(player.name), player.phase or "begin", _percent(player.progress)).text
        rehearsing = self._commands.rehearsing
        return MotionState(as_word(rehearsing), REHEARSE).text if rehearsing else ""

    def _loaded(self) -> dict[str, Choreography]:
        """Loads the motions of the package, so that no request waits for a file."""
        motions = {}
        for name in known_motions():
            try:
                motions[name] = load_motion(name, self._commands.robot)
            except MotionFileError as error:
                # no fault: the joints of many a robot do not turn as far as those for which the motion was made
                self._node.report(f"motion {name}", ReportLevel.OK, f"motion {name} is left out: {error}")
        return motions

    # --- requests -----------------------------------------------------------------------------------------------

    def on_motion(self, message: String) -> None:
        """Plays a motion by name or from the content of a file; an empty text ends the motion after its cycle."""
        if not message.data:
            self._commands.finish_cycle()
            return
        try:
            request = MotionRequest.parse(message.data)
        except MotionError as error:
            self.refuse("motion", Refusal.of(error))
            return
        self.begin(request)

    def begin(self, request: MotionRequest) -> Refusal | None:
        """Plays a motion by name, or reads that of a file first. Returns why it is refused now."""
        return self._read(request) if request.text else self.play(request.name)

    def on_cancel(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Ends the present motion at once."""
        refusal = None if self.busy else Refusal("no_motion", "no motion is played")
        self._commands.end_motion()
        return answer(self._node, response, refusal, "coming to rest, feet in the air go down")

    def _service(self, name: str) -> Callable[[Trigger.Request, Trigger.Response], Trigger.Response]:
        def on_service(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            accepted = f"{name} is rehearsed first, motion_state reports when it is done"
            return answer(self._node, response, self.play(name), accepted)

        return on_service

    def play(self, name: str) -> Refusal | None:
        """Rehearses a motion, then plays it. Returns why it is refused before the rehearsal."""
        refusal = self._commands.playing_refusal()
        if refusal:
            return self.refuse(name, refusal)
        motion = self._motions.get(name)
        if motion is None:
            known = ", ".join(self._motions)
            remedy = did_you_mean(name, list(self._motions)) or "play your own file with hexapod play FILE"
            text = "{name} is not a known motion, known: {known}, {remedy}"
            return self.refuse(name, Refusal("unknown_motion", text, name=quoted(name), known=known, remedy=remedy))
        self._begin(motion)
        return None

    def _read(self, request: MotionRequest) -> Refusal | None:
        refusal = self._commands.playing_refusal()
        if refusal:
            return self.refuse(request.title, refusal)
        self._reader.read(request)
        self._commands.await_motion(request.title)
        return None

    def _begin(self, motion: Choreography) -> None:
        """Plays a motion, after a rehearsal unless it has already passed one."""
        known = self._rehearsed.find(motion)
        if known is not None:
            self._commands.play(known)
        else:
            self._commands.rehearse(motion)

    # --- in every tick ------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Plays a motion that has been read, and records outcomes; call it after the player's step."""
        self.ended = []
        self._take()
        for outcome in self._commands.take_outcomes():
            if outcome.reason is not None:
                self.refuse(outcome.name, outcome.reason)
            else:
                self.show(outcome)

    def _take(self) -> None:
        name = self._commands.rehearsing
        try:
            motion = self._reader.take()
        except MotionFileError as error:
            if self._commands.awaited:
                self._commands.await_motion("")
                self.refuse(name, Refusal.of(error))
            return
        if motion is not None and self._commands.awaited:
            self.read_as = name, motion.name
            self._begin(motion)

    def rehearse(self, seconds: float) -> None:
        """Continues a rehearsal for a time [s]; plays a motion that has passed."""
        until = time.perf_counter() + seconds
        while self._commands.rehearsing and not self._commands.awaited and time.perf_counter() < until:
            rehearsed = self._commands.advance_rehearsal()
            if rehearsed is not None:
                self._rehearsed.add(rehearsed)

    def refuse(self, name: str, refusal: Refusal) -> Refusal:
        """Reports and shows that a motion is refused. Returns the refusal."""
        refused = Statement("motion_refused", "motion {name} refused: {refusal}", name=as_word(name), refusal=refusal)
        self._node.in_words(refusal)
        self._node.report("motion", ReportLevel.WARNING, refused, every=0.0)
        self.show(MotionOutcome(name, MotionEnd.REFUSED, 0.0, refusal))
        return refusal

    def show(self, outcome: MotionOutcome) -> None:
        """Shows for OUTCOME_TIME_S how a motion has ended."""
        self.ended.append(outcome)
        name = as_word(outcome.name)
        percent = _percent(outcome.progress)
        reason = "" if outcome.reason is None else _in_one_line(outcome.reason)
        self._outcome = MotionState(name, outcome.end.value, percent, reason).text
        self._outcome_until = time.monotonic() + OUTCOME_TIME_S


def _in_one_line(refusal: Refusal) -> str:
    return " ".join(str(refusal).split())


def _percent(progress: float) -> int:
    return percent_in_steps(progress, PERCENT_STEP)
