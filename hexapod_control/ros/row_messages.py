"""Whole rows of joints or feet as messages, and back; used through messages.py.

Names are mapped to rows here: a name that is unknown, missing or there twice is refused by name. Rows follow the
order of the robot file.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import Quaternion, Transform, Twist, Wrench
from sensor_msgs.msg import JointState, MultiDOFJointState

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import foot_name, joint_names
from hexapod_control.core.robot import Robot, Vector


class MessageError(ValueError):
    """A message that cannot be used; the text says why and what to send instead."""


class _NamedRows:
    """From the names in a message to rows; the same list of names is only looked at once."""

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind = kind
        self.names = list(names)
        self._row = {name: row for row, name in enumerate(self.names)}
        self._seen: list[str] = self.names
        self._order: list[int] | None = None

    def order(self, names: list[str]) -> list[int] | None:
        """Place in the message of each row; None if the message has the rows in order."""
        if names == self.names:
            return None
        if names != self._seen:
            self._order, self._seen = self._match(names), list(names)
        return self._order

    def _match(self, names: list[str]) -> list[int]:
        place: dict[str, int] = {}
        for index, name in enumerate(names):
            if name not in self._row:
                raise MessageError(f"{self.kind} {name!r} is unknown; this robot has {', '.join(self.names)}")
            if name in place:
                raise MessageError(f"{self.kind} {name!r} is there twice; send every {self.kind} once")
            place[name] = index
        missing = [name for name in self.names if name not in place]
        if missing:
            raise MessageError(f"{self.kind} {', '.join(missing)} missing; send all {len(self.names)} in one message")
        return [place[name] for name in self.names]


def _finite(kind: str, what: str, names: Sequence[str], values: Sequence[float], width: int = 1) -> None:
    """Refuses a row with a value that is not finite, by name; `values` has `width` numbers per name."""
    if not math.isfinite(sum(values)):
        for index, value in enumerate(values):
            if not math.isfinite(value):
                raise MessageError(f"{what} of {kind} {names[index // width]!r} is {value}; send finite numbers")


class JointLayout:
    """sensor_msgs/JointState of a whole robot: joints (n, 3) [rad] and their speeds [rad/s]."""

    def __init__(self, robot: Robot) -> None:
        self._rows = _NamedRows("joint", joint_names(robot.leg_names))
        self._message = JointState(name=self._rows.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints in the order of an array (n, 3) read row by row."""
        return tuple(self._rows.names)

    def joints(self, message: Any) -> Array:
        """Joints (n, 3) [rad] of a complete row. Raises MessageError."""
        return self._values(message, message.position, "position")

    def velocities(self, message: Any) -> Array:
        """Speeds (n, 3) [rad/s], zero if the message has none. Raises MessageError."""
        if not len(message.velocity):
            return np.zeros((len(self._rows.names) // 3, 3))
        return self._values(message, message.velocity, "velocity")

    def _values(self, message: Any, values: Sequence[float], what: str) -> Array:
        names: list[str] = message.name
        order = self._rows.order(names)
        if len(values) != len(names):
            raise MessageError(f"{len(names)} names but {len(values)} of {what}; send one {what} per joint")
        _finite("joint", what, names, values)
        row = np.array(values, dtype=np.float64)
        return (row if order is None else row[order]).reshape(-1, 3)

    def message(self, joints: Array, velocities: Array | None, stamp: Any, efforts: Array | None = None) -> Any:
        """The message of joints (n, 3) [rad], speeds [rad/s] and torques [N m], if known; the object is used again."""
        message = self._message
        message.header.stamp = stamp
        message.position = array("d", np.ravel(joints).tolist())
        message.velocity = array("d", [] if velocities is None else np.ravel(velocities).tolist())
        if efforts is not None:
            message.effort = array("d", np.ravel(efforts).tolist())
        return message


class FootRow(NamedTuple):
    """A row of feet."""

    positions: Array  # (n, 3) [m] ball centres in base_link
    velocities: Array  # (n, 3) [m/s] in base_link
    forces: Array  # (n,) [N] support: planned, or measured


class FootLayout:
    """sensor_msgs/MultiDOFJointState of all feet, as in foot_targets and foot_states."""

    def __init__(self, robot: Robot, frame: str = "base_link") -> None:
        self._legs = robot.leg_names
        self._rows = _NamedRows("foot", [foot_name(leg) for leg in robot.leg_names])
        count = len(self._rows.names)
        self._message = MultiDOFJointState(
            joint_names=self._rows.names,
            transforms=[Transform(rotation=Quaternion(w=1.0)) for _ in range(count)],
            twist=[Twist() for _ in range(count)],
            wrench=[Wrench() for _ in range(count)],
        )
        self._message.header.frame_id = frame
        self._places = [transform.translation for transform in self._message.transforms]
        self._speeds = [twist.linear for twist in self._message.twist]
        self._forces = [wrench.force for wrench in self._message.wrench]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the feet in row order."""
        return tuple(self._rows.names)

    def feet(self, message: Any) -> FootRow:
        """The whole row. Raises MessageError."""
        places = [place for transform in message.transforms for place in xyz(transform.translation)]
        speeds = [speed for twist in message.twist for speed in xyz(twist.linear)]
        return FootRow(
            self._array(message, places, "translation", 3),
            self._array(message, speeds, "velocity", 3),
            self.forces(message),
        )

    def places(self, message: Any) -> dict[str, Vector]:
        """Translations [m] of single feet, by name of their leg. Raises MessageError."""
        names: list[str] = message.joint_names
        legs = dict(zip(self._rows.names, self._legs, strict=True))
        for index, name in enumerate(names):
            if name not in legs:
                raise MessageError(f"foot {name!r} is unknown; this robot has {', '.join(legs)}")
            if name in names[:index]:
                raise MessageError(f"foot {name!r} is there twice; send every foot once")
        if len(message.transforms) != len(names):
            raise MessageError(f"{len(names)} names but {len(message.transforms)} transforms; send one per foot")
        found = [xyz(transform.translation) for transform in message.transforms]
        _finite("foot", "translation", names, [value for place in found for value in place], 3)
        return {legs[name]: place for name, place in zip(names, found, strict=True)}

    def forces(self, message: Any) -> Array:
        """Support (n,) [N] alone. Raises MessageError."""
        return self._array(message, [wrench.force.z for wrench in message.wrench], "force", 1)

    def _array(self, message: Any, values: list[float], what: str, width: int) -> Array:
        names: list[str] = message.joint_names
        order = self._rows.order(names)
        if len(values) != width * len(names):
            raise MessageError(f"{len(names)} names but {len(values) // width} of {what}; send one {what} per foot")
        _finite("foot", what, names, values, width)
        rows = np.array(values)
        if width > 1:
            rows = rows.reshape(-1, width)
        return rows if order is None else rows[order]

    def message(self, feet: Array, velocities: Array, forces: Array, stamp: Any) -> Any:
        """The message of ball centres (n, 3) [m], speeds (n, 3) [m/s], support (n,) [N]; the object is used again."""
        for place, row in zip(self._places, feet.tolist(), strict=True):
            place.x, place.y, place.z = row
        for speed, row in zip(self._speeds, velocities.tolist(), strict=True):
            speed.x, speed.y, speed.z = row
        for force, value in zip(self._forces, forces.tolist(), strict=True):
            force.z = value
        self._message.header.stamp = stamp
        return self._message


def xyz(vector: Any) -> Vector:
    """x, y, z of a vector or point message."""
    return vector.x, vector.y, vector.z
