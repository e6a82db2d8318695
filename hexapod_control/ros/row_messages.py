# SPDX-License-Identifier: Apache-2.0
"""Converts all joints or all feet of a robot between arrays and messages.

This is the only module that maps names in a message to rows of an array. Missing and duplicated names are refused;
names that the legs do not have, such as those of extra joints, are ignored. The rows of arrays are in the order of the
robot file.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, Transform, Twist, Wrench
from sensor_msgs.msg import JointState, MultiDOFJointState

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.names import extra_joint_name, foot_name, joint_names, quoted
from hexapod_control.core.robot import ExtraJointState, Robot, Vector


class MessageError(ValueError):
    """A message that cannot be used; the text names the reason and what to send instead."""


class HasXyz(Protocol):
    """A Vector3 or Point message."""

    x: float
    y: float
    z: float


class _NamedRows:
    """Maps the names in a message to array rows; a list of names is checked once and cached."""

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind = kind
        self.names = list(names)
        self._row = {name: row for row, name in enumerate(self.names)}
        self._seen: list[str] = self.names
        self._order: list[int] | None = None

    def order(self, names: list[str]) -> list[int] | None:
        """Returns, for each row, its index in the message; None if the message is already in row order."""
        if names == self.names:
            return None
        if names != self._seen:
            self._order = self._match(names)
            self._seen = list(names)
        return self._order

    def _match(self, names: list[str]) -> list[int]:
        position: dict[str, int] = {}
        unknown: list[str] = []
        for index, name in enumerate(names):
            if name not in self._row:
                unknown.append(name)
            elif name in position:
                raise MessageError(f"{self.kind} {quoted(name)} is duplicated; send every {self.kind} once")
            else:
                position[name] = index
        missing = [name for name in self.names if name not in position]
        if missing:
            text = f"{', '.join(missing)} missing; send all {len(self.names)} in one message"
            if unknown:
                text = f"{quoted(unknown[0])} is unknown; this robot has {', '.join(self.names)}: {text}"
            raise MessageError(f"{self.kind} {text}")
        return [position[name] for name in self.names]

    def ordered(self, names: list[str], values: Sequence[float], quantity: str, width: int = 1) -> Array:
        """Returns the values (n * width) of all rows, of which a message has `width` per name. Raises MessageError."""
        order = self.order(names)
        if len(values) != width * len(names):
            raise MessageError(
                f"{len(names)} names but {len(values) // width} of {quantity}; send one {quantity} per {self.kind}"
            )
        rows = np.array(values, dtype=np.float64)
        if order is not None:
            rows = rows.reshape(-1, width)[order].ravel()
        _check_finite(self.kind, quantity, self.names, rows.tolist(), width)
        return rows


def _unknown(values: Sequence[float]) -> bool:
    """Whether a message leaves a quantity out, or has NaN in it, as from joint_state_broadcaster of ros2_control."""
    return not len(values) or any(map(math.isnan, values))


def _check_finite(kind: str, quantity: str, names: Sequence[str], values: Sequence[float], width: int = 1) -> None:
    """Raises MessageError, with the name, for a value that is not finite; `values` has `width` numbers per name."""
    if not math.isfinite(sum(values)):
        for index, value in enumerate(values):
            if not math.isfinite(value):
                raise MessageError(
                    f"{quantity} of {kind} {quoted(names[index // width])} is {value}; send finite numbers"
                )


class JointLayout:
    """Converts sensor_msgs/JointState of all joints: angles (n, 3) [rad] and velocities (n, 3) [rad/s].

    With a mapping, messages have the names, signs and zeros of a URDF: URDF angle = sign * angle + offset.
    """

    def __init__(self, robot: Robot, mapping: JointMapping | None = None) -> None:
        extra = [extra_joint_name(joint.name) for joint in robot.extra_joints]
        fixed = {} if mapping is None else {name: at for name, at in mapping.fixed.items() if name not in extra}
        names = joint_names(robot.leg_names) if mapping is None else mapping.names
        self._rows = _NamedRows("joint", names)
        self._mapping = mapping
        self._fixed = list(fixed.values())
        self._message = JointState(name=[*names, *fixed])
        self._with_extra = [*self._message.name, *extra]
        self._extra = ExtraJointLayout(robot)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints in the order of a flattened array (n, 3)."""
        return tuple(self._rows.names)

    def joints(self, message: JointState) -> Array:
        """Returns the angles (n, 3) [rad] of all joints. Raises MessageError."""
        angles = self._values(message, message.position, "position")
        return angles if self._mapping is None else self._mapping.signs * (angles - self._mapping.offsets)

    def velocities(self, message: JointState) -> Array:
        """Returns the velocities (n, 3) [rad/s], zero if they are unknown. Raises MessageError."""
        if _unknown(message.velocity):
            return np.zeros((len(self._rows.names) // 3, 3))
        velocities = self._values(message, message.velocity, "velocity")
        return velocities if self._mapping is None else self._mapping.signs * velocities

    def torques(self, message: JointState) -> Array | None:
        """Returns the torques (n, 3) [N m], None if they are unknown. Raises MessageError."""
        if _unknown(message.effort):
            return None
        torques = self._values(message, message.effort, "effort")
        return torques if self._mapping is None else self._mapping.signs * torques

    def _values(self, message: JointState, values: Sequence[float], quantity: str) -> Array:
        return self._rows.ordered(message.name, values, quantity).reshape(-1, 3)

    def message(
        self,
        joints: Array,
        velocities: Array | None,
        stamp: Time,
        efforts: Array | None = None,
        extra: ExtraJointState | None = None,
    ) -> JointState:
        """Returns the message of angles (n, 3) [rad], velocities [rad/s] and torques [N m]; the next call reuses it.

        With `extra`, given in every call or in none, it also has the extra joints.
        """
        message, mapping = self._message, self._mapping
        if mapping is not None:
            joints = mapping.signs * joints + mapping.offsets
            velocities = None if velocities is None else mapping.signs * velocities
            efforts = None if efforts is None else mapping.signs * efforts
        still = [0.0] * len(self._fixed)
        message.header.stamp = stamp
        message.position = array("d", np.ravel(joints).tolist() + self._fixed)
        message.velocity = array("d", [] if velocities is None else np.ravel(velocities).tolist() + still)
        if efforts is not None:
            message.effort = array("d", np.ravel(efforts).tolist() + still)
        if extra is not None and extra.angles:
            message.name = self._with_extra
            positions, speeds, forces = self._extra.states(extra)
            message.position.extend(positions)
            if velocities is not None:
                message.velocity.extend(speeds)
            if efforts is not None:
                message.effort.extend(forces)
        return message


class ExtraJointLayout:
    """Converts sensor_msgs/JointState of any of the extra joints: [rad] of those that turn, [m] of those that slide."""

    def __init__(self, robot: Robot) -> None:
        servos = robot.extra_servos
        self.names = tuple(extra_joint_name(joint.name) for joint in servos)
        self._ratio = np.array([joint.ratio for joint in servos])
        self._offset = np.array([joint.offset for joint in servos])
        self._joints = robot.extra_joints
        own = [joint.name for joint in servos]
        self._servo = [own.index(joint.mimics or joint.name) for joint in robot.extra_joints]

    def states(self, measured: ExtraJointState) -> tuple[list[float], list[float], list[float]]:
        """Position, speed and effort of every extra joint; one without a servo of its own has no effort."""
        rows = list(zip(self._joints, self._servo, strict=True))
        positions = [joint.at(measured.angles[servo]) for joint, servo in rows]
        speeds = [joint.ratio * measured.velocities[servo] for joint, servo in rows]
        forces = [0.0 if joint.mimics else measured.torques[servo] / joint.ratio for joint, servo in rows]
        return positions, speeds, forces

    def targets(self, message: JointState) -> tuple[Array, Array]:
        """Returns angles (m,) [rad] and speeds [rad/s] of the servos, NaN for joints not named and speeds not given.

        Raises MessageError.
        """
        names: list[str] = message.name
        for index, name in enumerate(names):
            if name not in self.names:
                for joint in self._joints:
                    if name == extra_joint_name(joint.name):
                        master = extra_joint_name(joint.mimics)
                        raise MessageError(f"joint {quoted(name)} follows {master}; send a target of that one")
                joints = f"the extra joints are {', '.join(self.names)}"
                known = joints if self.names else "the robot has no extra joints"
                raise MessageError(f"joint {quoted(name)} is unknown; {known}")
            if name in names[:index]:
                raise MessageError(f"joint {quoted(name)} is duplicated; send every joint once")
        for quantity, values in (("position", message.position), ("velocity", message.velocity)):
            if len(values) != len(names) and (len(values) or quantity == "position"):
                raise MessageError(f"{len(names)} names but {len(values)} of {quantity}; send one {quantity} per joint")
        _check_finite("joint", "position", names, message.position.tolist())
        found = np.full((2, len(self.names)), math.nan)
        columns = [self.names.index(name) for name in names]
        found[0, columns] = message.position
        if len(message.velocity):
            found[1, columns] = message.velocity
        return (found[0] - self._offset) / self._ratio, found[1] / np.abs(self._ratio)

    def positions(self, message: JointState) -> dict[str, float]:
        """Returns where the extra joints with a servo are [rad] or [m] by a message of joint_states, by name."""
        return {name: at for name, at in zip(message.name, message.position, strict=False) if name in self.names}


class FeetSample(NamedTuple):
    """Positions, velocities and forces of all feet at one time."""

    positions: Array  # (n, 3) [m] centers of the ball feet in base_link
    velocities: Array  # (n, 3) [m/s] in base_link
    forces: Array  # (n,) [N] vertical support, planned or measured


class FootLayout:
    """Converts sensor_msgs/MultiDOFJointState of all feet, as in foot_targets and foot_states."""

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
        self._positions = [transform.translation for transform in self._message.transforms]
        self._velocities = [twist.linear for twist in self._message.twist]
        self._forces = [wrench.force for wrench in self._message.wrench]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the feet in row order."""
        return tuple(self._rows.names)

    def feet(self, message: MultiDOFJointState) -> FeetSample:
        """Returns positions, velocities and forces of all feet. Raises MessageError."""
        positions = [value for transform in message.transforms for value in xyz(transform.translation)]
        velocities = [value for twist in message.twist for value in xyz(twist.linear)]
        return FeetSample(
            self._array(message, positions, "translation", 3),
            self._array(message, velocities, "velocity", 3),
            self.forces(message),
        )

    def positions(self, message: MultiDOFJointState) -> dict[str, Vector]:
        """Returns the positions [m] of the feet that a message names, by leg name. Raises MessageError."""
        names: list[str] = message.joint_names
        legs = dict(zip(self._rows.names, self._legs, strict=True))
        for index, name in enumerate(names):
            if name not in legs:
                raise MessageError(f"foot {quoted(name)} is unknown; this robot has {', '.join(legs)}")
            if name in names[:index]:
                raise MessageError(f"foot {quoted(name)} is duplicated; send every foot once")
        if len(message.transforms) != len(names):
            raise MessageError(f"{len(names)} names but {len(message.transforms)} transforms; send one per foot")
        found = [xyz(transform.translation) for transform in message.transforms]
        _check_finite("foot", "translation", names, [value for position in found for value in position], 3)
        return {legs[name]: position for name, position in zip(names, found, strict=True)}

    def forces(self, message: MultiDOFJointState) -> Array:
        """Returns the vertical support forces (n,) [N] of all feet. Raises MessageError."""
        return self._array(message, [wrench.force.z for wrench in message.wrench], "force", 1)

    def _array(self, message: MultiDOFJointState, values: list[float], quantity: str, width: int) -> Array:
        rows = self._rows.ordered(message.joint_names, values, quantity, width)
        return rows.reshape(-1, width) if width > 1 else rows

    def message(self, feet: Array, velocities: Array, forces: Array, stamp: Time) -> MultiDOFJointState:
        """Returns the message of positions (n, 3) [m], velocities [m/s], forces (n,) [N]; the next call reuses it."""
        for position, values in zip(self._positions, feet.tolist(), strict=True):
            position.x, position.y, position.z = values
        for velocity, values in zip(self._velocities, velocities.tolist(), strict=True):
            velocity.x, velocity.y, velocity.z = values
        for force, value in zip(self._forces, forces.tolist(), strict=True):
            force.z = value
        self._message.header.stamp = stamp
        return self._message


class FootStates:
    """Computes the positions and velocities of the feet for foot_states from measured joint angles."""

    def __init__(self, robot: Robot, frame: str = "base_link") -> None:
        """`frame` is the frame id of base_link with its prefix."""
        self._robot = robot
        self._layout = FootLayout(robot, frame)
        self._time = math.inf  # [s] of the last sample
        self._feet = np.zeros((len(robot.legs), 3))
        self._velocities = np.zeros_like(self._feet)

    def update(self, joints: Array, time: float) -> None:
        """Stores the joint angles (n, 3) [rad] measured at `time` [s]; velocities are the mean since the last call."""
        feet = forward(self._robot, joints)
        known = time > self._time
        self._velocities = (feet - self._feet) / (time - self._time) if known else np.zeros_like(feet)
        self._feet = feet
        self._time = time

    def message(self, forces: Array, stamp: Time) -> MultiDOFJointState:
        """Returns the message of the last sample with measured forces (n,) [N]; the next call reuses it."""
        return self._layout.message(self._feet, self._velocities, forces, stamp)


def xyz(vector: HasXyz) -> Vector:
    """Returns x, y, z of a Vector3 or Point message."""
    return vector.x, vector.y, vector.z
