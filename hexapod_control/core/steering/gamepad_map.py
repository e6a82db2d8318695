# SPDX-License-Identifier: Apache-2.0
"""The map of the gamepad: one row per control, from which parameters, behaviour and the picture in docs/ follow.

Numbers are those of the joy package's game_controller_node: axes are positive to the left and forward (up), triggers
go from 0 to -1 (with other drivers from 1 to -1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

UNUSED = -1  # number of an unassigned control
MAX_NUMBER = 63  # of a button or axis
PULLED = -0.5  # value of a trigger at or below which it counts as pulled


@dataclass(frozen=True, slots=True)
class GamepadControl:
    """A button or axis, and its function."""

    parameter: str  # name of the parameter that sets the number
    number: int  # of the button or axis
    label: str  # on the pad
    action: str
    dead_man: bool = True  # whether the control only works while the dead-man button is held


BUTTONS = {
    control.parameter: control
    for control in (
        GamepadControl("enable_button", 9, "L1", "hold: dead-man, everything but STOP needs it", False),
        GamepadControl("enable_turbo_button", 10, "R1", "hold: full speed; in pose mode right stick rolls"),
        GamepadControl("stop_button", 1, "B", "STOP, always live", False),
        GamepadControl("walk_button", 0, "A", "walk mode: sticks walk and turn"),
        GamepadControl("pose_button", 3, "Y", "pose mode: sticks move the body"),
        GamepadControl("stand_button", 6, "Start", "stand up / sit down"),
        GamepadControl("reset_pose_button", 4, "Back", "neutral body pose"),
        GamepadControl("motion_button", 2, "X", "plays a motion: the dance saved last"),
        GamepadControl("raise_button", 11, "D-pad up", "body higher"),
        GamepadControl("lower_button", 12, "D-pad down", "body lower"),
        GamepadControl("previous_gait_button", 13, "D-pad left", "previous gait"),
        GamepadControl("next_gait_button", 14, "D-pad right", "next gait"),
    )
}
AXES = {
    control.parameter: control
    for control in (
        GamepadControl("axis_linear.x", 1, "left stick", "walk: forward, back"),
        GamepadControl("axis_linear.y", 0, "left stick", "walk: left, right"),
        GamepadControl("axis_angular.yaw", 2, "right stick", "walk: turn"),
        GamepadControl("axis_pose.x", 1, "left stick", "pose: shift forward, back"),
        GamepadControl("axis_pose.y", 0, "left stick", "pose: shift left, right"),
        GamepadControl("axis_pose.roll", 2, "right stick", "pose: roll, while R1 is held"),
        GamepadControl("axis_pose.pitch", 3, "right stick", "pose: pitch, forward is nose down"),
        GamepadControl("axis_pose.yaw", 2, "right stick", "pose: yaw"),
        GamepadControl("axis_lift_less", 4, "LT", "lower steps"),
        GamepadControl("axis_lift_more", 5, "RT", "higher steps"),
    )
}
TRIGGERS = ("axis_lift_less", "axis_lift_more")


class GamepadState(NamedTuple):
    """State of a gamepad; controls that it does not have are at rest."""

    axes: Sequence[float]  # in [-1, 1]
    buttons: Sequence[int]  # 0 or 1
    time: float = 0.0  # [s] on a steady clock

    def axis(self, number: int) -> float:
        """Returns the value of an axis, in [-1, 1]."""
        return min(1.0, max(-1.0, self.axes[number])) if 0 <= number < len(self.axes) else 0.0

    def button(self, number: int) -> bool:
        """Returns True if a button is pressed."""
        return 0 <= number < len(self.buttons) and bool(self.buttons[number])


@dataclass(frozen=True, slots=True)
class GamepadMap:
    """Numbers of the assigned controls, by parameter."""

    buttons: Mapping[str, int] = field(default_factory=lambda: {row.parameter: row.number for row in BUTTONS.values()})
    axes: Mapping[str, int] = field(default_factory=lambda: {row.parameter: row.number for row in AXES.values()})

    def axis(self, pad: GamepadState, parameter: str) -> float:
        """Returns the value of the axis that is assigned to a row of AXES."""
        return pad.axis(self.axes[parameter])

    def pressed(self, pad: GamepadState) -> frozenset[str]:
        """Returns the parameters of pressed buttons and pulled triggers."""
        buttons = {name for name, number in self.buttons.items() if pad.button(number)}
        return frozenset(buttons | {name for name in TRIGGERS if self.axis(pad, name) <= PULLED})

    def missing(self, pad: GamepadState) -> Iterator[str]:
        """Yields the rows whose control the gamepad does not have."""
        for name, number in self.buttons.items():
            if number >= len(pad.buttons):
                yield f"{name} {number} (it has {len(pad.buttons)} buttons)"
        for name, number in self.axes.items():
            if number >= len(pad.axes):
                yield f"{name} {number} (it has {len(pad.axes)} axes)"
