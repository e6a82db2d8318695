# SPDX-License-Identifier: Apache-2.0
"""Accepts or refuses the commands of operators.

The rules:

- Every request ends a motion that is played or rehearsed: the robot comes to rest, then the request is executed.
  Two exceptions: a zero velocity has no effect on a motion, because sources repeat it, and another motion waits for
  the end of the cycle (motion_player.py).
- While the pose is unknown, as with the torque off, every request but a stop is refused.
- A velocity is accepted while a motion plays or the robot stands, but not between an accepted `sit` and its end.
- A velocity timeout stops a walk, but neither a motion nor sitting down.
- While suspended, only stops and sitting down are accepted; after `close`, only stops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_player import MotionEnd, MotionOutcome, MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import Choreography, MotionError
from hexapod_control.core.planner.planner import LEG_LOST, Planner
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot, Vector

CLOSED = Refusal("closed", "the node is shutting down")


class OperatorCommands:
    """Handles the requests of operators for one player and its planner."""

    def __init__(self, player: MotionPlayer) -> None:
        """Accepts requests until `close` is called."""
        self._player = player
        self._planner: Planner = player.planner
        self.robot: Robot = player.planner.robot
        self._rehearsal: MotionRehearsal | None = None
        self.awaited = ""  # name of a motion that is being read; empty: none
        self._outcomes: list[MotionOutcome] = []  # of rehearsals that failed or were cancelled
        self._closed = False
        self._interrupted: Callable[[], Refusal | None] | None = None  # the request that `resume` repeats
        self.suspension: Refusal | None = None  # why only stops and sitting down are accepted

    def close(self) -> None:
        """Ends a motion; from now on only stops are accepted."""
        self._closed = True
        self.end_motion()

    # --- velocity ----------------------------------------------------------------------------------

    def velocity(self, twist: Twist) -> Refusal | None:
        """Follows a twist. Returns why it is ignored, unless that is not worth a report."""
        view = self._planner.view
        playing = bool(self._player.name)
        if self._closed or self.suspension or (view.lying_down and not playing):
            return None
        if not (playing or view.on_feet or view.waits_for_command) or (view.rising and not playing):
            silent = twist.is_zero or view.whole_body_move_active
            posture = "wait until it stands" if view.rising else "run hexapod stand first"
            remedy = view.why_unknown or view.held_reason or posture
            state = self._planner.state.value
            return None if silent else Refusal("ignored", "ignored while {state}: {remedy}", state=state, remedy=remedy)
        if not twist.is_zero:
            self.end_motion()
        self._player.command(twist)
        return None

    def velocity_timed_out(self) -> None:
        """Stops the walk after its velocity commands have timed out."""
        view = self._planner.view
        if view.on_feet and not (view.lying_down or view.rising or self._player.name):
            if view.changing_legs:  # a halt would abandon the change
                self._planner.command(ZERO)
            else:
                self._planner.halt()

    # --- posture, body, gait and feet --------------------------------------------------------------

    def stand(self, *, after_fall: bool = False) -> Refusal | None:
        """Stands up, or sets down the feet that are in the air; after a fall the legs fold first."""
        return self._end_motion_for_request() or (self._planner.recover() if after_fall else self._planner.stand())

    def sit(self) -> Refusal | None:
        """Sits down."""
        if self._closed:
            return CLOSED
        self._interrupted = None
        self.end_motion()
        return self._planner.view.why_unknown or self._planner.sit()

    def request_pose(self, pose: BodyPose) -> Refusal | None:
        """Moves to a body pose; clamping is reported like a refusal."""
        return self._end_motion_for_request() or self._planner.request_pose(pose)

    def change_gait(self, name: str) -> Refusal | None:
        """Changes to another gait."""
        return self._end_motion_for_request() or self._planner.change_gait(name)

    def guide_feet(self, ball_centers: Mapping[str, Vector]) -> Refusal | None:
        """Moves feet to points [m, base_link] by leg, all of them or none; if empty, guided feet are set down."""
        refusal = self._end_motion_for_request()
        if refusal:
            return refusal
        if not ball_centers:
            self._planner.release_feet()
            return None
        return _guide(self._planner.copy(), ball_centers) or _guide(self._planner, ball_centers)

    def change_leg(self, leg: str, *, lost: bool, remaining: WalkingLegs | None = None) -> Refusal | None:
        """Folds a leg and continues on the others, or unfolds a lost leg; `remaining` as in `Planner.change_leg`."""
        return self._end_motion_for_request() or self._planner.change_leg(leg, lost=lost, remaining=remaining)

    def follow_joints(self, joints: Array, *, begins: bool) -> Refusal | None:
        """Follows joint targets (n, 3) [rad]; with the first ones of a stream a motion ends."""
        return (self._end_motion_for_request() if begins else None) or self._planner.follow_joints(joints)

    # --- stops, always accepted --------------------------------------------------------------------

    def halt(self) -> None:
        """Brings the robot to rest smoothly; feet in the air are set down."""
        self._interrupted = None
        self.end_motion()
        self._planner.halt()

    def interrupt(self) -> None:
        """Stops for a pause of the machine; `resume` then continues standing up or sitting down."""
        view = self._planner.view
        request = self._interrupted
        if view.lying_down or view.rising:
            request = self._planner.sit if view.lying_down else self.stand  # it sits down also after `close`
        self.halt()
        self._interrupted = request

    @property
    def interrupted(self) -> bool:
        """True while a pause interrupts standing up or sitting down, which `resume` then continues."""
        return self._interrupted is not None

    def resume(self) -> None:
        """Continues what was interrupted, unless another request, a fall or torque off came after it."""
        request = self._interrupted
        self._interrupted = None
        view = self._planner.view
        if request is not None and (view.rising or view.lying_down or view.on_feet):
            request()

    def fail(self) -> None:
        """Stops after a failed tick: gait_state is fault until a tick succeeds."""
        self.end_motion()
        self._planner.fail()

    def forget_pose(self) -> None:
        """Makes the pose unknown, because the torque is off."""
        self.end_motion()
        self._planner.forget_pose()

    def end_motion(self) -> None:
        """Ends the motion that is played or rehearsed: the robot comes to rest, feet in the air are set down."""
        if self.rehearsing:
            self._outcomes.append(MotionOutcome(self.rehearsing, MotionEnd.CANCELLED, 0.0))
            self._rehearsal = None
            self.awaited = ""
        self._player.cancel()

    # --- motions -----------------------------------------------------------------------------------

    @property
    def rehearsing(self) -> str:
        """Name of the motion that is read or rehearsed; empty for none."""
        return self.awaited or (self._rehearsal.name if self._rehearsal is not None else "")

    def await_motion(self, name: str) -> None:
        """Announces a motion whose file is being read; `rehearse` follows unless another request comes first."""
        self._rehearsal = None
        self.awaited = name

    def playing_refusal(self) -> Refusal | None:
        """Returns why no motion can be played now."""
        if self._closed:
            return CLOSED
        return self.suspension or self._planner.view.why_unknown or (LEG_LOST if self._planner.view.lost_legs else None)

    def play(self, motion: RehearsedMotion) -> None:
        """Plays a motion that has been rehearsed already."""
        self._rehearsal = None
        self.awaited = ""
        self._player.execute(motion)

    def rehearse(self, motion: Choreography) -> None:
        """Starts the rehearsal of a motion; `advance_rehearsal` continues it and then plays the motion."""
        self._rehearsal = MotionRehearsal(self._planner.robot, motion)
        self.awaited = ""

    def advance_rehearsal(self) -> RehearsedMotion | None:
        """Advances the rehearsal by one tick. Returns the motion once it has passed and plays."""
        if self._rehearsal is None:
            return None
        try:
            rehearsed = self._rehearsal.advance(1)
        except MotionError as error:
            self._outcomes.append(MotionOutcome(self.rehearsing, MotionEnd.REFUSED, 0.0, Refusal.of(error)))
            self._rehearsal = None
            return None
        if rehearsed is not None:
            self.play(rehearsed)
        return rehearsed

    def finish_cycle(self) -> None:
        """Ends the motion after its cycle, and discards a motion in rehearsal."""
        self._rehearsal = None
        self.awaited = ""
        self._player.finish_cycle()

    def take_outcomes(self) -> list[MotionOutcome]:
        """Returns the outcomes of motions and rehearsals that have ended since the last call."""
        outcomes = [*self._outcomes, *self._player.take_outcomes()]
        self._outcomes = []
        return outcomes

    def _end_motion_for_request(self) -> Refusal | None:
        """Ends a motion for another request. Returns the refusal of that request."""
        if self._closed or self.suspension:
            return CLOSED if self._closed else self.suspension
        self._interrupted = None
        self.end_motion()
        return self._planner.view.why_unknown


def _guide(planner: Planner, ball_centers: Mapping[str, Vector]) -> Refusal | None:
    """Guides feet to points [m, base_link]. Returns the first refusal."""
    return next(filter(None, (planner.guide_foot(leg, center) for leg, center in ball_centers.items())), None)
