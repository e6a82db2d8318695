"""From a gamepad to commands: what is pressed goes in, what is to be sent comes out. No clock, no ROS.

Nothing but STOP has an effect unless the dead-man is held. After a STOP, a lost pad or at the start it must be let go
once before it counts: a pad that comes back, or a driver that repeats its last state, cannot set the robot going.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.steering.gamepad_map import GamepadMap, GamepadState

BY_ROBOT = Twist(math.nan, math.nan, math.nan)
POSE = BodyPose(0.03, 0.03, 0.06, 0.2, 0.2, 0.3)
NORMAL = 0.5  # share of the robot's greatest speed without turbo, unless a scale is given
LIFTS = (0.2, 1.0)  # least and greatest share of the robot's step height
LIFT_STEP = 0.1
UPRIGHT = ("rising", "standing", "walking", "moving")  # states in which Start sits down
DEAD_MAN, TURBO, STOP, STAND = "enable_button", "enable_turbo_button", "stop_button", "stand_button"


@dataclass(frozen=True, slots=True)
class GamepadScaling:
    """How strongly the pad acts."""

    normal: Twist = BY_ROBOT  # at full deflection; not a number: NORMAL of what the robot can do now
    turbo: Twist = BY_ROBOT  # the same with turbo; not a number: what the robot can do now
    pose: BodyPose = POSE  # at full deflection; z: the most the D-pad asks for
    height_step: float = 0.005  # [m] per press
    expo: float = 0.0  # 0: linear, 1: cubic
    dead_man: bool = True  # is the dead-man needed


@dataclass(slots=True)
class RobotStatus:
    """What the robot has said."""

    maxima: Twist = ZERO  # zero until it is known
    gaits: tuple[str, ...] = ()
    gait: str = ""
    state: str = ""
    pose: BodyPose = NEUTRAL  # achieved


class TeleopCommands(NamedTuple):
    """What is to be sent, most of it nothing."""

    twist: Twist | None = None
    pose: BodyPose | None = None
    gait: str = ""
    call: str = ""  # service: stand, sit or stop
    lift: float | None = None  # share of the robot's step height
    hint: str = ""  # a sentence for the user


NOTHING = TeleopCommands()


@dataclass(slots=True)
class GamepadTeleop:
    """The person with the gamepad."""

    map: GamepadMap = field(default_factory=GamepadMap)
    feel: GamepadScaling = field(default_factory=GamepadScaling)
    seen: RobotStatus = field(default_factory=RobotStatus)
    mode: str = "walk"  # or pose
    driving: bool = False  # is a velocity command of ours in force
    _ready: bool = False  # was the dead-man (or without one, the sticks) let go since the last STOP or loss
    _before: frozenset[str] | None = None  # pressed in the last state; None: there was none
    _pose: BodyPose = NEUTRAL  # asked for
    _gait: tuple[str, str] = ("", "")  # asked for, and the one in force then
    _lift: float = 1.0

    def update(self, pad: GamepadState) -> TeleopCommands:
        """Takes the state of the pad. Raises ValueError for one with an axis that is not a number."""
        if not all(map(math.isfinite, pad.axes)):
            raise ValueError(f"axes {list(pad.axes)} are not finite")
        pressed = self.map.pressed(pad)
        before, self._before = self._before, pressed
        fresh = pressed - (pressed if before is None else before)
        if STOP in fresh or (before is None and STOP in pressed):
            return self._end("stop")
        held = DEAD_MAN in pressed or not self.feel.dead_man
        active = DEAD_MAN in pressed if self.feel.dead_man else self._deflected(pad)
        if not active and STOP not in pressed:
            self._ready = True
        if not held or not self._ready:
            return self._release(fresh)
        return self._held(pad, fresh, TURBO in pressed)

    def lost(self) -> TeleopCommands:
        """The pad is gone, or silent for too long."""
        self._before, self._ready = None, False
        return self._release(frozenset())

    def _end(self, call: str) -> TeleopCommands:
        self._ready, self.driving = False, False
        return TeleopCommands(twist=ZERO, call=call)

    def _release(self, fresh: frozenset[str]) -> TeleopCommands:
        """A zero once; buttons only say what they would need."""
        twist = ZERO if self.driving else None
        self.driving = False
        hint = f"hold the dead-man, then press again ({', '.join(sorted(fresh))})" if fresh - {DEAD_MAN, TURBO} else ""
        return TeleopCommands(twist=twist, hint=hint)

    def _held(self, pad: GamepadState, fresh: frozenset[str], turbo: bool) -> TeleopCommands:
        if STAND in fresh:
            self._pose = NEUTRAL
            return self._end("sit" if self.seen.state in UPRIGHT else "stand")
        if "walk_button" in fresh:
            self.mode = "walk"
        elif "pose_button" in fresh:
            self.mode = "pose"
        pose, gait, lift = self._wished_pose(pad, fresh, turbo), self._wished_gait(fresh), self._wished_lift(fresh)
        twist, hint = None, ""
        if self.mode == "walk":
            twist = self._twist(pad, turbo)
            if twist.is_zero and self._deflected(pad):
                state = self.seen.state
                hint = f"the robot is {state}: dead-man and stand_button first" if state else "no robot is heard"
        elif self.driving:
            twist = ZERO
        self.driving = self.mode == "walk"
        return TeleopCommands(twist, pose, gait, "", lift, hint)

    # --- walking --------------------------------------------------------------------------------------------

    def _shaped(self, pad: GamepadState, name: str) -> float:
        value = self.map.axis(pad, name)
        return (1.0 - self.feel.expo) * value + self.feel.expo * value**3

    def _deflected(self, pad: GamepadState) -> bool:
        return any(self.map.axis(pad, name) for name in ("axis_linear.x", "axis_linear.y", "axis_angular.yaw"))

    def _twist(self, pad: GamepadState, turbo: bool) -> Twist:
        scales, share = (self.feel.turbo, 1.0) if turbo else (self.feel.normal, NORMAL)
        most = [share * limit if math.isnan(s) else s for s, limit in zip(scales, self.seen.maxima, strict=True)]
        sticks = (self._shaped(pad, name) for name in ("axis_linear.x", "axis_linear.y", "axis_angular.yaw"))
        return Twist(*(stick * scale for stick, scale in zip(sticks, most, strict=True)))

    # --- pose, gait, steps ----------------------------------------------------------------------------------

    def _wished_pose(self, pad: GamepadState, fresh: frozenset[str], turbo: bool) -> BodyPose | None:
        """The pose asked for, if it is a new one."""
        pose, most = self._pose, self.feel.pose
        if "reset_pose_button" in fresh:
            pose = NEUTRAL
        if "raise_button" in fresh:  # from where the robot is, if it could not follow
            pose = pose._replace(z=min(max(pose.z, self.seen.pose.z) + self.feel.height_step, most.z))
        if "lower_button" in fresh:
            pose = pose._replace(z=max(min(pose.z, self.seen.pose.z) - self.feel.height_step, -most.z))
        if self.mode == "pose" and "reset_pose_button" not in fresh:
            turn = "roll" if turbo else "yaw"  # the other one stays as it is
            for name in ("x", "y", "pitch", turn):
                sign = -1.0 if name == "roll" else 1.0  # stick to the left: lean to the left
                value = sign * self._shaped(pad, f"axis_pose.{name}") * getattr(most, name)
                pose = pose._replace(**{name: value})
        changed = pose != self._pose or "reset_pose_button" in fresh
        self._pose = pose
        return pose if changed else None

    def _wished_gait(self, fresh: frozenset[str]) -> str:
        step = ("next_gait_button" in fresh) - ("previous_gait_button" in fresh)
        gaits, now = self.seen.gaits, self.seen.gait
        if not step or not gaits:
            return ""
        asked, then = self._gait
        start = asked if asked in gaits and then == now else now
        index = gaits.index(start) if start in gaits else -step
        wished = gaits[(index + step) % len(gaits)]
        self._gait = (wished, now)
        return wished

    def _wished_lift(self, fresh: frozenset[str]) -> float | None:
        step = ("axis_lift_more" in fresh) - ("axis_lift_less" in fresh)
        if not step:
            return None
        self._lift = round(min(max(self._lift + step * LIFT_STEP, LIFTS[0]), LIFTS[1]), 3)
        return self._lift
