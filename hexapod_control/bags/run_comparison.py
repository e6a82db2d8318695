# SPDX-License-Identifier: Apache-2.0
"""Compares two runs from their first commands on: paths, commanded and achieved velocities, joint angles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.bags.recorded_run import RecordedRun, Samples, hold_last, interpolate

STEP_S = 0.02  # time between two compared samples
COMMAND_TIMEOUT_S = 0.5  # as the planner's default cmd_vel_timeout
RAMP_S = 0.9  # omitted after each change of the command, for the acceleration
MIN_SPEED = 1e-3  # [m/s, rad/s] below which a command counts as zero
AXES = ("vx m/s", "vy m/s", "wz rad/s")
NONE = "-"
MAX_DELAY_S = 0.2  # between the same movement in both runs
DELAY_STEP_S = 0.005
MIN_MOVEMENT = math.radians(2.0)  # of a joint whose delay is known
FAR = 3.0  # times the median difference of all joints, from which on one is an outlier
FAR_FLOOR = math.radians(0.7)  # a smaller difference is none


class JointDifference(NamedTuple):
    """How a joint of the other run differs."""

    name: str
    mean: float  # [rad]
    rms: float  # [rad]
    largest: float  # [rad]
    delay: float  # [s] of the other run; NaN for a joint that hardly moves
    rms_without_delay: float  # [rad] and without the mean


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs and their differences."""

    one: RecordedRun
    other: RecordedRun
    times: Samples  # (k,) [s] in both
    odometry_difference: Samples  # (k, 3) other minus one: x, y [m], yaw [rad] of the odometry
    truth_difference: Samples  # (k, 3) likewise of the ground truth
    tilt_difference: Samples  # (k, 2) other minus one: roll, pitch [rad]
    joint_names: tuple[str, ...]
    joint_difference: Samples  # (k, n) [rad] other minus one

    def table(self) -> list[str]:
        """Returns the lines of the table, with aligned columns."""
        return aligned([("", self.one.name, self.other.name, "difference"), *self._rows()])

    def joint_differences(self) -> list[JointDifference]:
        """How each joint differs; none if the runs have no joints in common."""
        if not len(self.joint_difference):
            return []
        mine, theirs = _joint_tables(self.one, self.other, self.joint_names)
        angles = interpolate(mine, self.times)
        delays = np.arange(-MAX_DELAY_S, MAX_DELAY_S + DELAY_STEP_S / 2, DELAY_STEP_S)
        # Deviations without the mean for each delay, (delays, n).
        apart = np.array([np.nanstd(interpolate(theirs, self.times + delay) - angles, axis=0) for delay in delays])
        best = np.argmin(apart, axis=0)
        moving = np.ptp(angles, axis=0) >= MIN_MOVEMENT
        difference = self.joint_difference
        return [
            JointDifference(
                name,
                float(np.nanmean(difference[:, k])),
                math.sqrt(float(np.nanmean(difference[:, k] ** 2))),
                float(np.nanmax(np.abs(difference[:, k]))),
                float(delays[best[k]]) if moving[k] else math.nan,
                float(apart[best[k], k]),
            )
            for k, name in enumerate(self.joint_names)
        ]

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        pair = (self.one, self.other)
        yield _row("bag s", [run.seconds for run in pair], 1)
        yield _row("distance by odom m", [_distance(run.odometry) for run in pair], 3)
        for axis, name, scale in ((1, "end x m", 1.0), (2, "end y m", 1.0), (3, "end yaw deg", math.degrees(1.0))):
            yield _row(name, [scale * _end(run.odometry, axis) for run in pair], 3)
        yield _row("odometry error at end m", [_odometry_error(run) for run in pair], 4)
        means = [mean_velocities(run) for run in pair]
        for axis, name in enumerate(AXES):
            if any(abs(commanded[axis]) >= MIN_SPEED for commanded, _ in means):
                yield _row(f"commanded {name}", [commanded[axis] for commanded, _ in means], 3)
                yield _row(f"achieved {name}", [done[axis] for _, done in means], 3)
                yield _row(f"ratio {name[:2]}", [_ratio(done[axis], commanded[axis]) for commanded, done in means], 3)
        yield _row("joint tracking error rms deg", [_tracking(run) for run in pair], 2)
        yield from self._between()

    def _between(self) -> Iterator[tuple[str, str, str, str]]:
        for source, apart in (("", self.odometry_difference), ("true ", self.truth_difference)):
            if len(apart):
                far = np.hypot(apart[:, 0], apart[:, 1])
                yield f"{source}path distance max m", "", "", f"{far.max():.4f}"
                yield f"{source}path distance at end m", "", "", f"{far[-1]:.4f}"
                yield f"{source}heading difference at end deg", "", "", f"{math.degrees(apart[-1, 2]):.2f}"
        if len(self.tilt_difference):
            for name, difference in zip(("roll", "pitch"), self.tilt_difference.T, strict=True):
                yield f"{name} difference rms deg", "", "", f"{math.degrees(math.sqrt((difference**2).mean())):.2f}"
        if len(self.joint_difference):
            rms = np.sqrt(np.nanmean(self.joint_difference**2, axis=0))
            worst = int(np.argmax(rms))
            whole = math.sqrt(float(np.nanmean(self.joint_difference**2)))
            yield "joint difference rms deg", "", "", f"{math.degrees(whole):.2f}"
            yield (
                "maximum joint difference",
                "",
                "",
                f"{self.joint_names[worst]} {math.degrees(rms[worst]):.2f} deg rms",
            )


def compare_runs(one: RecordedRun, other: RecordedRun, begin: float = 0.0) -> RunComparison:
    """Compares two runs over the time span that both cover, from a time [s] on."""
    ends = [[table[-1, 0] for table in (run.odometry, run.joints) if len(table)] for run in (one, other)]
    times = np.arange(begin, max(begin, min(max(end) for end in ends)), STEP_S)
    names = tuple(name for name in one.joint_names if name in other.joint_names)
    return RunComparison(
        one,
        other,
        times,
        _apart(one.odometry, other.odometry, times),
        _apart(one.truth, other.truth, times),
        _apart(one.tilt, other.tilt, times),
        names,
        _apart(*_joint_tables(one, other, names), times),
    )


def _apart(one: Samples, other: Samples, times: Samples) -> Samples:
    """Differences (k, n) of two tables at times (k,) [s]; none if one of them is empty."""
    if not len(one) or not len(other) or one.shape[1] == 1:
        return np.zeros((0, one.shape[1] - 1))
    return interpolate(other, times) - interpolate(one, times)


def _joint_tables(one: RecordedRun, other: RecordedRun, names: tuple[str, ...]) -> tuple[Samples, Samples]:
    """The measured angles of these joints in both runs."""
    mine, theirs = (
        run.joints[:, [0, *(1 + run.joint_names.index(name) for name in names)]] if len(run.joints) else run.joints
        for run in (one, other)
    )
    return mine, theirs


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns the lines of a table, with aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def mean_velocities(run: RecordedRun) -> tuple[Samples, Samples]:
    """Returns the mean commanded and mean achieved twist (3,), each [m/s, m/s, rad/s], of steady driving.

    Times without a command and the acceleration after each change of the command are left out; zero if none remain.
    """
    if not len(run.velocity):
        return np.zeros(3), np.zeros(3)
    times = run.velocity[:, 0]
    commanded = hold_last(run.command, times, COMMAND_TIMEOUT_S)
    changed = np.r_[-math.inf, times[1:][np.abs(np.diff(commanded, axis=0)).max(axis=1) > MIN_SPEED]]
    since = times - changed[np.searchsorted(changed, times, side="right") - 1]
    steady = (np.abs(commanded).max(axis=1) >= MIN_SPEED) & (since >= RAMP_S)
    if not steady.any():
        return np.zeros(3), np.zeros(3)
    return commanded[steady].mean(axis=0), run.velocity[steady, 1:].mean(axis=0)


def _row(name: str, values: list[float], digits: int) -> tuple[str, str, str, str]:
    cells = [f"{value:.{digits}f}" if math.isfinite(value) else NONE for value in values]
    difference = values[1] - values[0]
    return name, cells[0], cells[1], f"{difference:+.{digits}f}" if math.isfinite(difference) else NONE


def _distance(path: Samples) -> float:
    path = path[path[:, 0] >= 0.0]
    return float(np.hypot(*np.diff(path[:, 1:3], axis=0).T).sum()) if len(path) else math.nan


def _end(path: Samples, axis: int) -> float:
    return float(path[-1, axis]) if len(path) else math.nan


def _odometry_error(run: RecordedRun) -> float:
    """Distance [m] between odometry and ground truth at the end."""
    if not len(run.truth) or not len(run.odometry):
        return math.nan
    return math.dist(interpolate(run.truth, run.odometry[-1:, 0])[0][:2], run.odometry[-1, 1:3])


def _ratio(done: float, commanded: float) -> float:
    return done / commanded if abs(commanded) >= MIN_SPEED else math.nan


def _tracking(run: RecordedRun) -> float:
    """RMS tracking error [deg]: measured minus commanded joint angles."""
    if not len(run.targets) or not len(run.joints):
        return math.nan
    times = run.joints[(run.joints[:, 0] >= run.targets[0, 0]) & (run.joints[:, 0] <= run.targets[-1, 0])]
    if not len(times):
        return math.nan
    return math.degrees(math.sqrt(float(np.nanmean((times[:, 1:] - interpolate(run.targets, times[:, 0])) ** 2))))
