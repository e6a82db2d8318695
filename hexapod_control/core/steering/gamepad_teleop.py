# SPDX-License-Identifier: Apache-2.0
"""Which axes of a gamepad count: those that rest at their center.

A driver may report a trigger where the map of the gamepad expects a stick. A trigger rests at an end and passes the
center when it is pulled, so that the dead-man alone would drive the robot. A stick that is stuck, or held at the start,
looks the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.robot import LIFT_RANGE
from hexapod_control.core.steering.gamepad_map import MAX_NUMBER, GamepadMap, GamepadState

CENTER = 0.1  # deflection that counts as centered: zero
CENTER_TIME_S = 0.3  # at the center, while the dead-man is held: a trigger that is pulled passes it faster
REST_TIME_S = 2.0  # away from the center without dead-man, after which an axis is taken to rest there


@dataclass(slots=True)
class AxisCenters:
    """Where the axes of a gamepad rest, from all of its states since it was connected."""

    _found: dict[int, float] = field(default_factory=dict)  # deflection in the first state
    _sides: dict[int, tuple[bool, float]] = field(default_factory=dict)  # whether at the center, and since when [s]
    _counting: set[int] = field(default_factory=set)

    def see(self, pad: GamepadState, *, held: bool) -> None:
        """Takes a state into account; `held`: the dead-man is pressed, so deflections are commands."""
        for number in range(len(pad.axes)):
            value = pad.axis(number)
            centered = abs(value) <= CENTER
            found = self._found.setdefault(number, value)
            before, since = self._sides.get(number, (centered, -math.inf))
            since = since if centered is before else pad.time
            self._sides[number] = centered, since
            if centered and (not held or pad.time - since >= CENTER_TIME_S):
                self._counting.add(number)
            elif not centered and not held and (abs(value - found) <= CENTER or pad.time - since >= REST_TIME_S):
                self._counting.discard(number)  # it is back where it was found, or stays away

    def deflection(self, pad: GamepadState, number: int) -> float:
        """Deflection of an axis in [-1, 1]: 0 at its center, and as long as the axis does not count."""
        value = pad.axis(number)
        beyond = max(0.0, abs(value) - CENTER) / (1.0 - CENTER) if number in self._counting else 0.0
        return beyond if value > 0.0 else -beyond

    def ignored(self, pad: GamepadState, number: int) -> bool:
        """Whether an axis is deflected without counting."""
        return abs(pad.axis(number)) > CENTER and number not in self._counting


FROM_LIMITS = Twist(math.nan, math.nan, math.nan)  # speeds that follow from the limits of the robot
MAX_POSE = BodyPose(0.03, 0.03, 0.06, 0.2, 0.2, 0.3)  # [m], [rad]
NORMAL_SHARE = 0.5  # of the robot's maximum speed, without turbo and unless a speed is given
LIFT_SHARE_STEP = 0.1  # of the robot's step height
WALK_AXES = ("axis_linear.x", "axis_linear.y", "axis_angular.yaw")
POSE_AXES = ("axis_pose.x", "axis_pose.y", "axis_pose.roll", "axis_pose.pitch", "axis_pose.yaw")
DEAD_MAN = "enable_button"
TURBO = "enable_turbo_button"
STOP = "stop_button"
STAND = "stand_button"


@dataclass(frozen=True, slots=True)
class GamepadScaling:
    """Speeds and poses at full deflection."""

    normal: Twist = FROM_LIMITS  # at full deflection; NaN: NORMAL_SHARE of the present limits
    turbo: Twist = FROM_LIMITS  # the same with turbo; NaN: the present limits
    pose: BodyPose = MAX_POSE  # at full deflection; z: the largest height change by the D-pad
    height_step: float = 0.005  # [m] per press
    expo: float = 0.0  # 0: linear, 1: cubic
    dead_man: bool = True  # whether the dead-man button is needed


@dataclass(slots=True)
class RobotStatus:
    """State of the robot, as far as it is known."""

    maxima: Twist = ZERO  # maximum speed along each axis; zero until it is known
    gaits: tuple[str, ...] = ()
    gait: str = ""
    state: str = ""  # gait_state
    upright: bool = False  # on its feet or rising: Start means sit
    pose: BodyPose = NEUTRAL  # achieved


class TeleopCommands(NamedTuple):
    """Commands to send; a default means that there is none of this kind."""

    twist: Twist | None = None
    pose: BodyPose | None = None
    gait: str = ""
    call: str = ""  # service: stand, sit or stop
    lift: float | None = None  # share of the robot's step height
    hint: str = ""  # for the user
    motion: bool = False  # play the motion of the gamepad


NOTHING = TeleopCommands()


@dataclass(slots=True)
class GamepadTeleop:
    """State of the teleoperation: mode, dead-man button and requests so far.

    Call `update` with every state of the gamepad and `lost` when it is gone or silent.
    """

    map: GamepadMap = field(default_factory=GamepadMap)
    scaling: GamepadScaling = field(default_factory=GamepadScaling)
    robot: RobotStatus = field(default_factory=RobotStatus)
    mode: str = "walk"  # or pose
    pressed: frozenset[str] | None = None  # controls in the last state; None: no state since the start or a loss
    driving: bool = False  # whether a velocity command is in effect: a zero has to follow
    ignored: str = ""  # which deflected axes do not count, while the dead-man is held
    _centers: AxisCenters = field(default_factory=AxisCenters)
    _ready: bool = False  # whether the dead-man (without one: the sticks) was released since the last STOP or loss
    _pose: BodyPose = NEUTRAL  # requested
    _gait: tuple[str, str] = ("", "")  # the requested gait, and the active one at that time
    _lift: float = 1.0  # requested share of the robot's step height

    def update(self, pad: GamepadState) -> TeleopCommands:
        """Handles a state of the gamepad. Returns the commands to send. Raises ValueError if it is invalid."""
        if max(len(pad.axes), len(pad.buttons)) > MAX_NUMBER + 1:
            bound = f"at most {MAX_NUMBER + 1} of each are accepted"
            raise ValueError(f"it has {len(pad.axes)} axes and {len(pad.buttons)} buttons, {bound}")
        if not all(map(math.isfinite, pad.axes)):
            raise ValueError(f"axis {next(k for k, v in enumerate(pad.axes) if not math.isfinite(v))} is not finite")
        pressed = self.map.pressed(pad)
        self._centers.see(pad, held=DEAD_MAN in pressed or not self.scaling.dead_man)
        before = self.pressed
        self.pressed = pressed
        self.ignored = ""
        newly_pressed = pressed - (pressed if before is None else before)
        if STOP in newly_pressed or (before is None and STOP in pressed):
            return self._end("stop")
        held = DEAD_MAN in pressed or not self.scaling.dead_man
        active = DEAD_MAN in pressed if self.scaling.dead_man else self._deflected(pad)
        if not active and STOP not in pressed:
            self._ready = True
        if not held or not self._ready:
            commands = self._release(newly_pressed)
            again = held and not commands.hint and self._deflected(pad)
            return commands._replace(hint="release the dead-man once, then hold it again") if again else commands
        return self._held(pad, newly_pressed, TURBO in pressed)

    def lost(self) -> TeleopCommands:
        """Handles the loss of the gamepad. Returns the commands that stop the robot."""
        self.pressed = None
        self._ready = False
        self._centers = AxisCenters()
        return self._release(frozenset())

    def _end(self, call: str) -> TeleopCommands:
        """Ends driving and calls a service; the dead-man must be released before it works again."""
        self._ready = False
        self.driving = False
        return TeleopCommands(twist=ZERO, call=call)

    def _release(self, newly_pressed: frozenset[str]) -> TeleopCommands:
        """Handles a state without dead-man: one zero velocity; newly pressed controls only cause a hint."""
        twist = ZERO if self.driving else None
        self.driving = False
        hint = (
            f"hold the dead-man, then press again ({', '.join(sorted(newly_pressed))})"
            if newly_pressed - {DEAD_MAN, TURBO}
            else ""
        )
        return TeleopCommands(twist=twist, hint=hint)

    def _held(self, pad: GamepadState, newly_pressed: frozenset[str], turbo: bool) -> TeleopCommands:
        """Handles a state with the dead-man held."""
        if STAND in newly_pressed:
            self._pose = NEUTRAL
            return self._end("sit" if self.robot.upright else "stand")
        if "walk_button" in newly_pressed:
            self.mode = "walk"
        elif "pose_button" in newly_pressed:
            self.mode = "pose"
        pose = self._requested_pose(pad, newly_pressed, turbo)
        gait = self._requested_gait(newly_pressed)
        lift = self._requested_lift(newly_pressed)
        twist = None
        hint = ""
        if self.mode == "walk":
            twist = self._twist(pad, turbo)
            if twist.is_zero and self._deflected(pad):
                state = self.robot.state
                hint = f"the robot is {state}: dead-man and stand_button first" if state else "no gait_state yet"
        elif self.driving:
            twist = ZERO
        self.driving = self.mode == "walk"
        self.ignored = self._ignored(pad)
        return TeleopCommands(twist, pose, gait, "", lift, hint, "motion_button" in newly_pressed)

    def _ignored(self, pad: GamepadState) -> str:
        """Returns a sentence about the axes that the present mode uses and that do not count; else an empty text."""
        numbers: dict[int, list[str]] = {}
        for name in WALK_AXES if self.mode == "walk" else POSE_AXES:
            if self._centers.ignored(pad, self.map.axes[name]):
                numbers.setdefault(self.map.axes[name], []).append(name)
        values = [f"axis {k} ({', '.join(names)}) is at {pad.axis(k):.2f}" for k, names in numbers.items()]
        remedy = "let it return to its center; a trigger or a stick that stays there needs another number"
        return f"{'; '.join(values)} and does not count before it rests at its center: {remedy}" if values else ""

    # --- walking --------------------------------------------------------------------------------------------

    def _shaped(self, pad: GamepadState, name: str) -> float:
        """Deflection of an axis in [-1, 1] after the exponential curve."""
        value = self._centers.deflection(pad, self.map.axes[name])
        return (1.0 - self.scaling.expo) * value + self.scaling.expo * value**3

    def _deflected(self, pad: GamepadState) -> bool:
        return any(self._centers.deflection(pad, self.map.axes[name]) for name in WALK_AXES)

    def _twist(self, pad: GamepadState, turbo: bool) -> Twist:
        """Twist of the sticks."""
        scales, share = (self.scaling.turbo, 1.0) if turbo else (self.scaling.normal, NORMAL_SHARE)
        maxima = [share * limit if math.isnan(s) else s for s, limit in zip(scales, self.robot.maxima, strict=True)]
        sticks = (self._shaped(pad, name) for name in WALK_AXES)
        return Twist(*(stick * maximum for stick, maximum in zip(sticks, maxima, strict=True)))

    # --- pose, gait, steps ----------------------------------------------------------------------------------

    def _requested_pose(self, pad: GamepadState, newly_pressed: frozenset[str], turbo: bool) -> BodyPose | None:
        """Returns the requested pose if it is new, else None."""
        pose = self._pose
        limits = self.scaling.pose
        if "reset_pose_button" in newly_pressed:
            pose = NEUTRAL
        if "raise_button" in newly_pressed:  # from the achieved pose, if the robot could not follow
            pose = pose._replace(z=min(max(pose.z, self.robot.pose.z) + self.scaling.height_step, limits.z))
        if "lower_button" in newly_pressed:
            pose = pose._replace(z=max(min(pose.z, self.robot.pose.z) - self.scaling.height_step, -limits.z))
        if self.mode == "pose" and "reset_pose_button" not in newly_pressed:
            roll_or_yaw = "roll" if turbo else "yaw"  # the other one is unchanged
            for name in ("x", "y", "pitch", roll_or_yaw):
                sign = -1.0 if name == "roll" else 1.0  # stick to the left: lean to the left
                value = sign * self._shaped(pad, f"axis_pose.{name}") * getattr(limits, name)
                pose = pose._replace(**{name: value})
        changed = pose != self._pose or "reset_pose_button" in newly_pressed
        self._pose = pose
        return pose if changed else None

    def _requested_gait(self, newly_pressed: frozenset[str]) -> str:
        """Returns the requested gait if it is new, else an empty text; fast presses count from the last request."""
        step = ("next_gait_button" in newly_pressed) - ("previous_gait_button" in newly_pressed)
        gaits, now = self.robot.gaits, self.robot.gait
        if not step or not gaits:
            return ""
        requested, active = self._gait
        start = requested if requested in gaits and active == now else now
        index = gaits.index(start) if start in gaits else -step
        requested = gaits[(index + step) % len(gaits)]
        self._gait = (requested, now)
        return requested

    def _requested_lift(self, newly_pressed: frozenset[str]) -> float | None:
        """Returns the requested share of the step height if it is new, else None."""
        step = ("axis_lift_more" in newly_pressed) - ("axis_lift_less" in newly_pressed)
        if not step:
            return None
        lowest, highest = LIFT_RANGE
        self._lift = round(min(max(self._lift + step * LIFT_SHARE_STEP, lowest), highest), 3)
        return self._lift
