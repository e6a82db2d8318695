# SPDX-License-Identifier: Apache-2.0
"""Parameters of teleop: numbers of the controls from the gamepad map, and speeds at full deflection."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, field
from operator import attrgetter
from typing import Any

from hexapod_control.config.ros_names import frame
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.quantity import choice, number
from hexapod_control.core.steering import gamepad_map
from hexapod_control.core.steering.gamepad_teleop import GamepadScaling
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.parameters import FROM_ROBOT, LIVE


def _control(row: gamepad_map.GamepadControl) -> Any:
    """A field for the number of a button or axis, named and described as in the gamepad map."""
    return number(
        row.number,
        "",
        gamepad_map.UNUSED,
        gamepad_map.MAX_NUMBER,
        f"{row.label}: {row.action}; {gamepad_map.UNUSED}: none",
    )


def _scale(default: float, unit: str, upper: float, description: str) -> Any:
    return number(default, unit, 0.0, upper, description, **(FROM_ROBOT if math.isnan(default) else LIVE))


@dataclass(frozen=True, slots=True)
class LinearControls:
    """Numbers of the axes for walking."""

    x: int = _control(gamepad_map.AXES["axis_linear.x"])
    y: int = _control(gamepad_map.AXES["axis_linear.y"])


@dataclass(frozen=True, slots=True)
class AngularControls:
    """Number of the axis for turning."""

    yaw: int = _control(gamepad_map.AXES["axis_angular.yaw"])


@dataclass(frozen=True, slots=True)
class PoseControls:
    """Numbers of the axes for the body pose."""

    x: int = _control(gamepad_map.AXES["axis_pose.x"])
    y: int = _control(gamepad_map.AXES["axis_pose.y"])
    roll: int = _control(gamepad_map.AXES["axis_pose.roll"])
    pitch: int = _control(gamepad_map.AXES["axis_pose.pitch"])
    yaw: int = _control(gamepad_map.AXES["axis_pose.yaw"])


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Speeds at full deflection."""

    x: float = _scale(math.nan, "m/s", 10.0, "speed forward and back at full deflection")
    y: float = _scale(math.nan, "m/s", 10.0, "speed to the sides at full deflection")


@dataclass(frozen=True, slots=True)
class AngularScale:
    """Rate at full deflection."""

    yaw: float = _scale(math.nan, "rad/s", 20.0, "turning rate at full deflection")


@dataclass(frozen=True, slots=True)
class PoseScale:
    """Body pose at full deflection; z: the largest height change by the D-pad."""

    x: float = _scale(GamepadScaling().pose.x, "m", 0.5, "shift forward and back at full deflection")
    y: float = _scale(GamepadScaling().pose.y, "m", 0.5, "shift to the sides at full deflection")
    z: float = _scale(GamepadScaling().pose.z, "m", 0.5, "largest height change, up and down")
    roll: float = _scale(GamepadScaling().pose.roll, "rad", 1.0, "roll at full deflection")
    pitch: float = _scale(GamepadScaling().pose.pitch, "rad", 1.0, "pitch at full deflection")
    yaw: float = _scale(GamepadScaling().pose.yaw, "rad", 1.0, "yaw at full deflection")


@dataclass(frozen=True, slots=True)
class TeleopSettings:
    """Parameters of teleop; parameters of teleop_twist_joy have the same name here."""

    enable_stamped_cmd_vel: bool = choice(stamped_by_default(), "cmd_vel is TwistStamped, not Twist")
    frame: str = choice("base_footprint", "frame id of a stamped cmd_vel", check=frame)
    require_enable_button: bool = choice(True, "only STOP has an effect unless the dead-man is held", **LIVE)
    joy_timeout: float = number(
        0.3, "s", 0.1, 2.0, "without a message for this time the gamepad counts as lost: a zero is sent", **LIVE
    )
    expo: float = _scale(GamepadScaling().expo, "", 1.0, "0: linear sticks, 1: cubic, finer near the center")
    height_step: float = _scale(GamepadScaling().height_step, "m", 0.05, "change of the height per press")
    enable_button: int = _control(gamepad_map.BUTTONS["enable_button"])
    enable_turbo_button: int = _control(gamepad_map.BUTTONS["enable_turbo_button"])
    stop_button: int = _control(gamepad_map.BUTTONS["stop_button"])
    walk_button: int = _control(gamepad_map.BUTTONS["walk_button"])
    pose_button: int = _control(gamepad_map.BUTTONS["pose_button"])
    stand_button: int = _control(gamepad_map.BUTTONS["stand_button"])
    reset_pose_button: int = _control(gamepad_map.BUTTONS["reset_pose_button"])
    motion_button: int = _control(gamepad_map.BUTTONS["motion_button"])
    motion: str = choice("", "of motion_button: name or path of a motion; empty: the dance saved last", **LIVE)
    raise_button: int = _control(gamepad_map.BUTTONS["raise_button"])
    lower_button: int = _control(gamepad_map.BUTTONS["lower_button"])
    previous_gait_button: int = _control(gamepad_map.BUTTONS["previous_gait_button"])
    next_gait_button: int = _control(gamepad_map.BUTTONS["next_gait_button"])
    axis_lift_less: int = _control(gamepad_map.AXES["axis_lift_less"])
    axis_lift_more: int = _control(gamepad_map.AXES["axis_lift_more"])
    axis_linear: LinearControls = field(default_factory=LinearControls)
    axis_angular: AngularControls = field(default_factory=AngularControls)
    axis_pose: PoseControls = field(default_factory=PoseControls)
    scale_linear: LinearScale = field(default_factory=LinearScale)
    scale_linear_turbo: LinearScale = field(default_factory=LinearScale)
    scale_angular: AngularScale = field(default_factory=AngularScale)
    scale_angular_turbo: AngularScale = field(default_factory=AngularScale)
    scale_pose: PoseScale = field(default_factory=PoseScale)

    @property
    def map(self) -> gamepad_map.GamepadMap:
        """The controls in use."""
        values = {name: attrgetter(name)(self) for name in (*gamepad_map.BUTTONS, *gamepad_map.AXES)}
        return gamepad_map.GamepadMap(
            {name: values[name] for name in gamepad_map.BUTTONS}, {name: values[name] for name in gamepad_map.AXES}
        )

    @property
    def scaling(self) -> GamepadScaling:
        """Speeds and poses at full deflection."""
        return GamepadScaling(
            Twist(self.scale_linear.x, self.scale_linear.y, self.scale_angular.yaw),
            Twist(self.scale_linear_turbo.x, self.scale_linear_turbo.y, self.scale_angular_turbo.yaw),
            BodyPose(*astuple(self.scale_pose)),
            self.height_step,
            self.expo,
            self.require_enable_button,
        )
