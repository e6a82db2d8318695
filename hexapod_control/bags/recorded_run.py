# SPDX-License-Identifier: Apache-2.0
"""Reads the drive in a bag into arrays, and samples all signals of a bag at regular times.

Times [s] of a drive count from the first command that is not zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexapod_control.bags.bag_file import TYPES, Bag, BagError, open_bag
from hexapod_control.core.kinematics.body_pose import quaternion_angles

Value = float | str
Sample = dict[str, Value]  # by signal, whose name ends with its unit
Samples = NDArray[np.float64]  # of one signal over time


def _twist_sample(prefix: str, twist: Any) -> Sample:
    return {
        f"{prefix} vx [m/s]": twist.linear.x,
        f"{prefix} vy [m/s]": twist.linear.y,
        f"{prefix} wz [rad/s]": twist.angular.z,
    }


def planar_pose(message: Any) -> tuple[float, float, float]:
    """Position (x, y) [m] and yaw [rad] of a geometry_msgs/Pose."""
    place, turn = message.position, message.orientation
    return place.x, place.y, quaternion_angles(turn.x, turn.y, turn.z, turn.w)[2]


def _pose_sample(message: Any) -> Sample:
    x, y, yaw = planar_pose(message.pose.pose)
    return {"x [m]": x, "y [m]": y, "yaw [rad]": yaw, **_twist_sample("achieved", message.twist.twist)}


def _tilt(message: Any) -> list[float]:
    turn = message.orientation
    return list(quaternion_angles(turn.x, turn.y, turn.z, turn.w)[:2])


def _tilt_sample(message: Any) -> Sample:
    roll, pitch = _tilt(message)
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
    "cmd_vel": lambda message: _twist_sample("commanded", getattr(message, "twist", message)),
    "odom": _pose_sample,
    "imu/data": _tilt_sample,
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


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One drive. Each table has the time [s] in its first column; it is empty if its topic was not recorded."""

    name: str
    seconds: float  # [s] of the whole bag
    odometry: Samples  # (k, 4) x, y [m], yaw [rad, unwrapped], from the pose at time 0
    truth: Samples  # (k, 4) ground truth of a simulation
    command: Samples  # (k, 4) vx, vy [m/s], wz [rad/s]
    velocity: Samples  # (k, 4) of the odometry
    joint_names: tuple[str, ...]
    joints: Samples  # (k, 1 + n) measured [rad]
    targets: Samples  # (k, 1 + n) commanded [rad]
    tilt: Samples  # (k, 3) roll, pitch [rad] by the IMU
    description: str  # URDF of the robot; empty if it was not recorded


def load_run(path: Path) -> RecordedRun:
    """Reads the drive in a bag. Raises BagError."""
    with open_bag(path) as bag:
        return _run(bag)


def _run(bag: Bag) -> RecordedRun:
    namespace = bag.namespace
    kinds = {channel.topic: channel.kind for channel in bag.channels}
    if f"{namespace}/odom" not in kinds and f"{namespace}/joint_states" not in kinds:
        raise BagError(f"{bag.path}: has neither odom nor joint_states below {namespace or '/'}: nothing to compare")
    stamped = kinds.get(f"{namespace}/cmd_vel", "").endswith("TwistStamped")
    command = _table(bag, f"{namespace}/cmd_vel", 3, lambda m: _twist(m.twist if stamped else m))
    moving = np.nonzero(np.abs(command[:, 1:]).max(axis=1, initial=0.0))[0]
    zero = float(command[moving[0], 0]) if len(moving) else 0.0
    names: list[str] = []

    def row(message: Any) -> list[float]:
        if not names:
            names.extend(message.name)
        places = {name: k for k, name in enumerate(message.name)}
        return [float(message.position[places[name]]) if name in places else math.nan for name in names]

    joints = _table(bag, f"{namespace}/joint_states", 0, row)
    targets = _table(bag, f"{namespace}/joint_targets", 0, row)
    truth = _table(bag, f"{namespace}/simulator/floating_base_state", 3, _pose)
    odometry = _table(bag, f"{namespace}/odom", 3, _pose)
    velocity = _table(bag, f"{namespace}/odom", 3, lambda m: _twist(m.twist.twist))
    tilt = _table(bag, f"{namespace}/imu/data", 2, _tilt)
    for table in (command, joints, targets, truth, odometry, velocity, tilt):
        table[:, 0] -= zero
    return RecordedRun(
        bag.path.name,
        bag.seconds,
        from_zero(odometry),
        from_zero(truth),
        command,
        velocity,
        tuple(names),
        joints,
        targets,
        tilt,
        next((message.data for _, message in bag.messages(f"{namespace}/robot_description")), ""),
    )


def _table(bag: Bag, topic: str, width: int, row: Callable[[Any], list[float]]) -> Samples:
    rows = [[at, *row(message)] for at, message in bag.messages(topic)]
    return np.array(rows) if rows else np.zeros((0, 1 + width))


def _twist(message: Any) -> list[float]:
    return [message.linear.x, message.linear.y, message.angular.z]


def _pose(message: Any) -> list[float]:
    return list(planar_pose(message.pose.pose))


def from_zero(path: Samples) -> Samples:
    """Returns a path (k, 4) of times [s], x, y [m] and yaw [rad] relative to its pose at time 0."""
    if not len(path):
        return path
    path[:, 3] = np.unwrap(path[:, 3])
    x, y, yaw = interpolate(path, np.array([0.0]))[0]
    c, s = math.cos(yaw), math.sin(yaw)
    moved = path.copy()
    moved[:, 1] = c * (path[:, 1] - x) + s * (path[:, 2] - y)
    moved[:, 2] = -s * (path[:, 1] - x) + c * (path[:, 2] - y)
    moved[:, 3] -= yaw
    return moved


def interpolate(table: Samples, times: Samples) -> Samples:
    """Returns the rows (k, n) of a table at times (k,) [s], interpolated linearly; constant outside its samples."""
    return np.stack([np.interp(times, table[:, 0], column) for column in table[:, 1:].T], axis=1)


def hold_last(table: Samples, times: Samples, hold: float) -> Samples:
    """Returns the newest row of a table at each of the times (k,) [s] as (k, n); zero if older than `hold` [s]."""
    found = np.zeros((len(times), table.shape[1] - 1))
    if len(table):
        index = np.searchsorted(table[:, 0], times, side="right") - 1
        fresh = (index >= 0) & (times - table[np.maximum(index, 0), 0] <= hold)
        found[fresh] = table[index[fresh], 1:]
    return found
