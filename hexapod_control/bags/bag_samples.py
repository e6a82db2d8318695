"""Samples all signals of a recorded robot at regular times: for tables and for drawing it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hexapod_control.bags.bag_file import TYPES, Bag, BagError
from hexapod_control.core.kinematics.body_pose import quaternion_angles

Value = float | str
Sample = dict[str, Value]  # by signal, whose name ends with its unit


def _twist(prefix: str, twist: Any) -> Sample:
    return {
        f"{prefix} vx [m/s]": twist.linear.x,
        f"{prefix} vy [m/s]": twist.linear.y,
        f"{prefix} wz [rad/s]": twist.angular.z,
    }


def planar_pose(message: Any) -> tuple[float, float, float]:
    """Position (x, y) [m] and yaw [rad] of a geometry_msgs/Pose."""
    place, turn = message.position, message.orientation
    return place.x, place.y, quaternion_angles(turn.x, turn.y, turn.z, turn.w)[2]


def _pose(message: Any) -> Sample:
    x, y, yaw = planar_pose(message.pose.pose)
    return {"x [m]": x, "y [m]": y, "yaw [rad]": yaw, **_twist("achieved", message.twist.twist)}


def _tilt(message: Any) -> Sample:
    turn = message.orientation
    roll, pitch, _ = quaternion_angles(turn.x, turn.y, turn.z, turn.w)
    return {"roll [rad]": roll, "pitch [rad]": pitch}


def _forces(kind: str) -> Callable[[Any], Sample]:
    def forces(message: Any) -> Sample:
        named = zip(message.joint_names, message.wrench, strict=False)
        return {f"{name} {kind} [N]": wrench.force.z for name, wrench in named}

    return forces


def _joints(kind: str) -> Callable[[Any], Sample]:
    def joints(message: Any) -> Sample:
        return {
            f"{name}{kind} [rad]": float(angle) for name, angle in zip(message.name, message.position, strict=False)
        }

    return joints


SIGNALS: Mapping[str, Callable[[Any], Sample]] = {
    "joint_states": _joints(""),
    "joint_targets": _joints(" target"),
    "foot_states": _forces("force"),
    "foot_targets": _forces("support"),
    "cmd_vel": lambda message: _twist("commanded", getattr(message, "twist", message)),
    "odom": _pose,
    "imu/data": _tilt,
    "stability_margin": lambda message: {"margin [m]": message.data},
    "battery_state": lambda message: {"battery [V]": message.voltage},
    "gait_state": lambda message: {"state": message.data},
}


def samples(bag: Bag, period: float) -> Iterator[tuple[float, Sample]]:
    """Yields time [s] and the newest values of all signals, every `period` [s] from the first joint angles.

    Raises BagError for a bag without joint_states.
    """
    namespace = bag.namespace
    wanted = {f"{namespace}/{name}": name for name in SIGNALS}
    kinds = {channel.topic: channel.kind for channel in bag.channels if channel.topic in wanted}
    if f"{namespace}/joint_states" not in kinds:
        raise BagError(f"{bag.path}: has no joint_states below {namespace or '/'}: nothing to show")
    values: Sample = {}
    newest: dict[str, bytes] = {}  # messages since the last sample, of which only these are decoded
    due = bag.start
    started = False
    for at, topic, data in bag.raw(kinds):
        while started and at > due:
            for name, raw in newest.items():
                values |= SIGNALS[wanted[name]](TYPES.deserialize_cdr(raw, kinds[name]))
            newest.clear()
            yield 1e-9 * (due - bag.start), dict(values)
            due += round(1e9 * period)
        newest[topic] = data
        if not started and wanted[topic] == "joint_states":
            started = True
            due = at
