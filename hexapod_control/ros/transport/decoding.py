"""Decodes feet, joints and IMU of a topic with one call of `struct`, as long as frame, names and counts stay the same.

rclpy converts a message field by field, which takes several times as long. encoding.py has the other direction.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from array import array
from itertools import accumulate
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState

from hexapod_control.ros.transport.encoding import (
    ENCAPSULATION,
    SINGLE,
    STAMP,
    START,
    WIDTHS,
    head_of_names,
    sequences,
    text,
)

COVARIANCE = 9  # numbers of a covariance matrix
IMU_NUMBERS = 37  # quaternion, rate and acceleration, each with its covariance


class LayoutDecoder(ABC):
    """Decodes the messages of one subscription; the next call may reuse the message that it returned."""

    kind: Any  # of the messages, which have no common base

    def __init__(self) -> None:
        self._message = self.kind()
        self._head = b""  # frame and names of the known layout; empty: none is known
        self._body = struct.Struct("<")  # all numbers after the head

    def __call__(self, data: bytes) -> Any:
        """Returns the message. Raises the exceptions of rclpy for invalid bytes."""
        body = START + len(self._head)
        known = self._head and len(data) == body + self._body.size and data[START:body] == self._head
        if known and data.startswith(ENCAPSULATION) and self._fill(self._body.unpack_from(data, body)):
            self._message.header.stamp = Time()
            stamp = self._message.header.stamp
            stamp.sec, stamp.nanosec = STAMP.unpack_from(data, len(ENCAPSULATION))
        else:
            self._learn(data)
        return self._message

    def _learn(self, data: bytes) -> None:
        """Decodes with rclpy, and stores the layout if the bytes are encoded as expected."""
        self._message = deserialize_message(data, self.kind)
        head = self._head_of(self._message)
        same = data[START : START + len(head)] == head
        self._head = head if same else b""
        if same:
            self._body = self._body_of(self._message, START + len(head))

    @abstractmethod
    def _head_of(self, message: Any) -> bytes:
        """Returns the bytes from the stamp to the numbers."""

    @abstractmethod
    def _body_of(self, message: Any, start: int) -> struct.Struct:
        """Returns the layout of the numbers of a message, which begin at offset `start` plus padding."""

    @abstractmethod
    def _fill(self, values: tuple[Any, ...]) -> bool:
        """Fills the message with its numbers; returns False if they have another layout."""


class _Sequences(LayoutDecoder):
    """Messages with names and three sequences of numbers."""

    widths: tuple[int, int, int]  # numbers per element of each sequence

    def __init__(self) -> None:
        super().__init__()
        self._counts = (0, 0, 0)  # elements of each sequence
        self._at = (0, 0, 0)  # indices of the counts among the values

    def _body_of(self, message: Any, start: int) -> struct.Struct:
        self._counts = self._counted(message)
        lengths = [1 + width * count for width, count in zip(self.widths, self._counts, strict=True)]
        first, second, _ = accumulate(lengths)
        self._at = 0, first, second
        return sequences(start, self._counts, self.widths)

    def _fill(self, values: tuple[Any, ...]) -> bool:
        a, b, c = self._at
        if (values[a], values[b], values[c]) != self._counts:
            return False
        self._assign(values)
        return True

    @abstractmethod
    def _counted(self, message: Any) -> tuple[int, int, int]:
        """Returns the lengths of the sequences."""

    @abstractmethod
    def _assign(self, values: tuple[Any, ...]) -> None:
        """Fills the sequences of the message."""


class FootDecoder(_Sequences):
    """Decodes sensor_msgs/MultiDOFJointState."""

    kind = MultiDOFJointState
    widths = WIDTHS

    def __init__(self, *, forces_only: bool = False) -> None:
        """`forces_only`: transforms and twists may be those of an older message."""
        super().__init__()
        self._forces_only = forces_only

    def _head_of(self, message: MultiDOFJointState) -> bytes:
        return head_of_names(message.header.frame_id, tuple(message.joint_names))

    def _counted(self, message: MultiDOFJointState) -> tuple[int, int, int]:
        return len(message.transforms), len(message.twist), len(message.wrench)

    def _assign(self, values: tuple[Any, ...]) -> None:
        message = self._message
        if not self._forces_only:
            for k, transform in enumerate(message.transforms):
                position, turn, i = transform.translation, transform.rotation, self._at[0] + 1 + WIDTHS[0] * k
                position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w = values[i : i + WIDTHS[0]]
            for k, twist in enumerate(message.twist):
                linear, angular, i = twist.linear, twist.angular, self._at[1] + 1 + WIDTHS[1] * k
                linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = values[i : i + WIDTHS[1]]
        for k, wrench in enumerate(message.wrench):
            force, torque, i = wrench.force, wrench.torque, self._at[2] + 1 + WIDTHS[2] * k
            force.x, force.y, force.z, torque.x, torque.y, torque.z = values[i : i + WIDTHS[2]]


class JointDecoder(_Sequences):
    """Decodes sensor_msgs/JointState."""

    kind = JointState
    widths = SINGLE

    def _head_of(self, message: JointState) -> bytes:
        return head_of_names(message.header.frame_id, tuple(message.name))

    def _counted(self, message: JointState) -> tuple[int, int, int]:
        return len(message.position), len(message.velocity), len(message.effort)

    def _assign(self, values: tuple[Any, ...]) -> None:
        message, (a, b, c) = self._message, self._at
        message.position = array("d", values[a + 1 : b])
        message.velocity = array("d", values[b + 1 : c])
        message.effort = array("d", values[c + 1 :])


class ImuDecoder(LayoutDecoder):
    """Decodes sensor_msgs/Imu."""

    kind = Imu

    def __init__(self) -> None:
        super().__init__()
        self._covariances: tuple[float, ...] = ()  # of the message

    def _head_of(self, message: Imu) -> bytes:
        self._covariances = ()
        return text(message.header.frame_id)

    def _body_of(self, message: Imu, start: int) -> struct.Struct:
        return struct.Struct(f"<{(len(ENCAPSULATION) - start) % 8}x{IMU_NUMBERS}d")

    def _fill(self, values: tuple[Any, ...]) -> bool:
        message = self._message
        turn, rate, acceleration = message.orientation, message.angular_velocity, message.linear_acceleration
        turn.x, turn.y, turn.z, turn.w = values[:4]
        rate.x, rate.y, rate.z = values[13:16]
        acceleration.x, acceleration.y, acceleration.z = values[25:28]
        covariances = (*values[4:13], *values[16:25], *values[28:])
        if covariances != self._covariances:
            self._covariances = covariances
            parts = np.array(covariances).reshape(-1, COVARIANCE)
            message.orientation_covariance, message.angular_velocity_covariance = parts[0], parts[1]
            message.linear_acceleration_covariance = parts[2]
        return True
