# SPDX-License-Identifier: Apache-2.0
"""The message class of tf2_msgs/msg/TFMessage for the ROS wheels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from geometry_msgs.msg import TransformStamped


class _Metaclass(type):
    """Holds the type support of the message class, where rclpy looks for it.

    `Any`: PyCapsules have no type of their own.
    """

    _CREATE_ROS_MESSAGE: Any = None
    _DESTROY_ROS_MESSAGE: Any = None
    _CONVERT_FROM_PY: Any = None
    _CONVERT_TO_PY: Any = None
    _TYPE_SUPPORT: Any = None

    @classmethod
    def __import_type_support__(cls) -> None:
        from hexapod_control.ros.tf2_shim import type_support

        for name, capsule in type_support.capsules(WheelTFMessage).items():
            setattr(cls, name, capsule)


class WheelTFMessage(metaclass=_Metaclass):
    """The message for the ROS wheels: `transforms`, a list of TransformStamped."""

    __slots__ = ("_transforms",)
    _fields_and_field_types: ClassVar = {"transforms": "sequence<geometry_msgs/TransformStamped>"}

    def __init__(self, transforms: Iterable[TransformStamped] = ()) -> None:
        self.transforms = transforms

    @property
    def transforms(self) -> list[TransformStamped]:
        """The transforms; the setter raises TypeError for anything but TransformStamped."""
        return self._transforms

    @transforms.setter
    def transforms(self, transforms: Iterable[TransformStamped]) -> None:
        checked = list(transforms)
        for item in checked:
            if not isinstance(item, TransformStamped):
                raise TypeError(f"TFMessage.transforms takes TransformStamped, not {type(item).__name__}")
        self._transforms = checked

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Names and types of the fields."""
        return dict(cls._fields_and_field_types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WheelTFMessage) and self.transforms == other.transforms

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"tf2_msgs.msg.TFMessage(transforms={self.transforms!r})"
