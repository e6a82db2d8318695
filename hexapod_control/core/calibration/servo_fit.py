# SPDX-License-Identifier: Apache-2.0
"""Fits the servos of joints to the steps that were recorded of them, in the model of the simulator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hexapod_control.core.calibration.joint_recording import REST_S, JointRecording, resolution
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import FRICTION_SHARE, Joint

NOISE = math.radians(0.01)  # [rad] of an angle at rest, besides its resolution
MAX_LATENCY_S = 0.15
SIMULATION_STEP_S = 0.002  # as in the physics
TIMING_S = 0.001  # deviation of the time of a reading, at first
FIT_PASSES = 18
ROUGH_PASSES = 5  # first, with readings that count for less: the way to the best values is smoother then
ROUGH = math.radians(0.15)  # [rad]


class Fit(NamedTuple):
    """Values of a joint as in `ServoFit`."""

    values: Array  # (6,)
    deviations: Array  # (6,)
    residual: float  # [rad] rms


class _Segment(NamedTuple):
    """Steps of one joint without a break, from a rest on."""

    goals: Array  # (g,) [rad], the first one already reached
    sent: Array  # (g,) [s] since the begin of the segment
    torque: float  # [N m]
    start: float  # [rad] at rest
    times: Array  # (m,) [s] of the readings
    angles: Array  # (m,) [rad]


def _segments(recording: JointRecording) -> list[_Segment]:
    """The parts of a recording between breaks; each begins with the second goal, the rest before it is its start."""
    times, angles = np.array(recording.readings).reshape(-1, 2).T
    begins = sorted({0, *recording.breaks})
    found = []
    for first, after in zip(begins, (*begins[1:], len(recording.goals)), strict=True):
        rows = recording.goals[first:after]
        if len(rows) < 2:
            continue
        begin = rows[1][0]
        end = recording.goals[after][0] if after < len(recording.goals) else math.inf
        before = (times >= rows[0][0]) & (times < begin) & (times > begin - REST_S)
        inside = (times >= begin) & (times < end)
        if not before.any() or not inside.any():
            continue
        sent = np.array([-1e9, *(time - begin for time, *_ in rows[1:])])
        goals = np.array([goal for _, goal, _ in rows])
        last = rows[-1][0] + 2.0  # what follows is the move to the next pose
        inside &= times < last
        found.append(
            _Segment(goals, sent, rows[0][2], float(angles[before].mean()), times[inside] - begin, angles[inside])
        )
    return found


class ServoFit:
    """Fits the servos of several joints at once, each on its own, with the model of the simulator.

    The values of a joint are: log of the stiffness, slack [rad], friction, latency [s], log of damping / stiffness [s],
    and log of inertia stiffness / damping^2. Stiffness and friction are shares of the usual ones.
    """

    COUNT = 6
    WIDTHS = np.array([1e-3, 1e-5, 1e-2, 2e-4, 1e-3, 1e-3])
    LOW = np.array([-2.0, 0.0, 0.0, 0.0, -8.0, -6.0])
    HIGH = np.array([2.0, 0.1, 8.0, MAX_LATENCY_S, -1.5, 3.0])

    def __init__(self, recordings: Sequence[JointRecording], joints: Sequence[Joint]) -> None:
        self._joints = joints
        self._spring = np.array([joint.stiffness for joint in joints])
        self._stall = np.array([joint.stall_torque for joint in joints])
        self._segments = [_segments(recording) for recording in recordings]
        dt = SIMULATION_STEP_S
        self._lengths = [[math.ceil(float(part.times[-1]) / dt) + 2 for part in parts] for parts in self._segments]
        self._steps = max(map(sum, self._lengths))
        self._torque = np.zeros((self._steps, len(joints)))
        self._resets: dict[int, list[tuple[int, float]]] = {}
        for column, (parts, lengths) in enumerate(zip(self._segments, self._lengths, strict=True)):
            at = 0
            for part, length in zip(parts, lengths, strict=True):
                self._torque[at : at + length, column] = part.torque
                self._resets.setdefault(at, []).append((column, part.start))
                at += length
        self._deviations = [
            np.concatenate([_deviations(part, resolution(recording)) for part in parts])
            for parts, recording in zip(self._segments, recordings, strict=True)
        ]

    def _targets(self, latencies: Array) -> Array:
        """Targets (steps, joints) [rad] of the motors, for latencies (joints,) [s]."""
        dt = SIMULATION_STEP_S
        targets = np.zeros((self._steps, len(latencies)))
        for column, (parts, lengths) in enumerate(zip(self._segments, self._lengths, strict=True)):
            at = 0
            for part, length in zip(parts, lengths, strict=True):
                ends = dt * np.arange(1, length + 1)
                sent = part.sent + latencies[column]
                index = np.maximum(np.searchsorted(sent, ends, side="right") - 1, 0)
                share = np.clip((ends - sent[index]) / dt, 0.0, 1.0)  # of the step, after a goal within it
                before = part.goals[np.maximum(index - 1, 0)]
                targets[at : at + length, column] = before + share * (part.goals[index] - before)
                at += length
        return targets

    def courses(self, values: Array) -> list[Array]:
        """The angles [rad] at the readings of each joint, for values (joints, 6) or (joints, k, 6).

        Returns an array (m,) or (m, k) per joint.
        """
        sets = values.reshape(len(self._joints), -1, self.COUNT)
        count = sets.shape[1]
        dt = SIMULATION_STEP_S
        targets = np.stack([self._targets(sets[:, k, 3]) for k in range(count)], axis=2)
        spring = self._spring[:, None] * np.exp(sets[..., 0])
        slack = sets[..., 1]
        usual = FRICTION_SHARE * self._stall[:, None]
        stuck = dt * usual * sets[..., 2]
        lag = np.exp(sets[..., 4])
        inertia = spring * lag * lag * np.exp(sets[..., 5])
        whole = inertia + dt * spring * lag
        most = np.broadcast_to(self._stall[:, None], spring.shape)
        angle = np.zeros_like(spring)
        speed = np.zeros_like(spring)
        course = np.empty((self._steps, *spring.shape))
        weight = self._torque[:, :, None]
        low = targets - slack
        high = targets + slack
        for step in range(self._steps):
            for column, start in self._resets.get(step, ()):
                angle[column] = start
                speed[column] = 0.0
            force = np.maximum(angle, low[step])
            np.minimum(force, high[step], out=force)
            force -= angle
            force *= spring
            np.minimum(force, most, out=force)
            np.maximum(force, -most, out=force)
            force -= weight[step]
            force *= dt
            force += inertia * speed
            force -= np.minimum(np.maximum(force, -stuck), stuck)
            speed = force / whole
            angle = angle + dt * speed
            course[step] = angle
        return [self._read(course[:, column], column) for column in range(len(self._joints))]

    def _read(self, course: Array, column: int) -> Array:
        """What is read (m, k) of the course (steps, k) of a joint."""
        dt = SIMULATION_STEP_S
        found = []
        at = 0
        for part, length in zip(self._segments[column], self._lengths[column], strict=True):
            place = at - 1.0 + part.times / dt
            first = np.clip(np.floor(place).astype(int), at, at + length - 2)
            share = np.clip(place - first, 0.0, 1.0)[:, None]
            found.append(course[first] * (1.0 - share) + course[first + 1] * share)
            at += length
        joined: Array = np.concatenate(found)
        return joined

    def _left(self, courses: Sequence[Array], rough: float = 0.0) -> list[Array]:
        """Readings less courses (m, k), by their deviations, and a `rough` one [rad] more."""
        return [
            (np.concatenate([part.angles for part in parts])[:, None] - course) / np.hypot(deviations, rough)[:, None]
            for parts, course, deviations in zip(self._segments, courses, self._deviations, strict=True)
        ]

    def fit(self, start: Array, prior: Array, spread: Array) -> list[Fit]:
        """Levenberg and Marquardt's method from values (joints, 6), with a normal prior of values and deviations."""
        joints = len(start)
        values = np.clip(start, self.LOW, self.HIGH)
        slowed = np.full(joints, 1e-2)
        steps = np.concatenate([np.zeros((1, self.COUNT)), np.diag(self.WIDTHS)])
        normal = np.zeros((joints, self.COUNT, self.COUNT))
        for number in range(FIT_PASSES):
            rough = ROUGH if number < ROUGH_PASSES else 0.0
            lefts = self._left(self.courses(values[:, None, :] + steps), rough)
            cost = np.array([float(left[:, 0] @ left[:, 0]) for left in lefts])
            cost += (((values - prior) / spread) ** 2).sum(axis=1)
            moves = np.zeros_like(values)
            for row, left in enumerate(lefts):
                jacobian = (left[:, 1:] - left[:, :1]) / self.WIDTHS
                normal[row] = jacobian.T @ jacobian + np.diag(1.0 / spread[row] ** 2)
                slope = jacobian.T @ left[:, 0] + (values[row] - prior[row]) / spread[row] ** 2
                moves[row] = -np.linalg.solve(normal[row] + slowed[row] * np.diag(np.diag(normal[row])), slope)
            tried = np.clip(values + moves, self.LOW, self.HIGH)
            new = np.array([float(left[:, 0] @ left[:, 0]) for left in self._left(self.courses(tried), rough)])
            new += (((tried - prior) / spread) ** 2).sum(axis=1)
            better = new < cost
            values = np.where(better[:, None], tried, values)
            slowed = np.where(better, slowed / 5.0, slowed * 8.0)
            done = np.where(better, cost - new < 1e-3 * cost, slowed > 1e3)
            if number >= ROUGH_PASSES and done.all():
                break
        lefts = self._left(self.courses(values))
        found = []
        for row, (left, deviations) in enumerate(zip(lefts, self._deviations, strict=True)):
            worse = max(1.0, float(left[:, 0] @ left[:, 0]) / max(1, len(left) - self.COUNT))
            residual = float(np.sqrt(np.mean((left[:, 0] * deviations) ** 2)))
            found.append(Fit(values[row], np.sqrt(np.diag(np.linalg.inv(normal[row])) * worse), residual))
        return found


def _deviations(part: _Segment, resolution: float) -> Array:
    """Deviations (m,) [rad] of readings: of the angle, and of the time while the joint moves.

    Equal readings, one after the other, have the same error of rounding, and count as one.
    """
    still = math.hypot(resolution / math.sqrt(12.0), NOISE)
    speed = np.gradient(part.angles, part.times) if len(part.times) > 2 else np.zeros_like(part.angles)
    run = np.cumsum(np.abs(np.diff(part.angles, prepend=part.angles[0])) > 1e-9)
    found: Array = np.hypot(still * np.sqrt(np.bincount(run)[run]), TIMING_S * speed)
    return found
