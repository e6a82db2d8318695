"""Two runs side by side: paths, commanded against achieved velocity, joints. Both begin at their first command."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hexapod_control.bags.recorded_run import RecordedRun, Samples, at, held

STEP_S = 0.02  # between two compared times
COMMAND_TIMEOUT_S = 0.5  # a command holds as long as in the planner
RAMP_S = 0.9  # left out after a change of the command
MIN_SPEED = 1e-3  # [m/s, rad/s] below which a command counts as zero
AXES = ("vx m/s", "vy m/s", "wz rad/s")
NONE = "-"


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs and their differences."""

    one: RecordedRun
    other: RecordedRun
    times: Samples  # (k,) [s] in both
    apart: Samples  # (k, 3) other minus one: x, y [m], yaw [rad] of the odometry
    joint_names: tuple[str, ...]
    joints_apart: Samples  # (k, n) [rad] other minus one

    def table(self) -> list[str]:
        """Lines of text, aligned."""
        rows = [("", self.one.name, self.other.name, "difference"), *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        pair = (self.one, self.other)
        yield _row("bag s", [run.seconds for run in pair], 1)
        yield _row("distance by odom m", [_distance(run.odometry) for run in pair], 3)
        for axis, name, scale in ((1, "end x m", 1.0), (2, "end y m", 1.0), (3, "end yaw deg", math.degrees(1.0))):
            yield _row(name, [scale * _end(run.odometry, axis) for run in pair], 3)
        yield _row("odom off truth at end m", [_off(run) for run in pair], 4)
        means = [driven(run) for run in pair]
        for axis, name in enumerate(AXES):
            if any(abs(commanded[axis]) >= MIN_SPEED for commanded, _ in means):
                yield _row(f"commanded {name}", [commanded[axis] for commanded, _ in means], 3)
                yield _row(f"achieved {name}", [done[axis] for _, done in means], 3)
                yield _row(f"ratio {name[:2]}", [_ratio(done[axis], commanded[axis]) for commanded, done in means], 3)
        yield _row("joints off targets rms deg", [_tracking(run) for run in pair], 2)
        yield from self._between()

    def _between(self) -> Iterator[tuple[str, str, str, str]]:
        if len(self.apart):
            far = np.hypot(self.apart[:, 0], self.apart[:, 1])
            yield "paths apart at most m", "", "", f"{far.max():.4f}"
            yield "paths apart at end m", "", "", f"{far[-1]:.4f}"
            yield "headings apart at end deg", "", "", f"{math.degrees(self.apart[-1, 2]):.2f}"
        if len(self.joints_apart):
            rms = np.sqrt(np.nanmean(self.joints_apart**2, axis=0))
            worst = int(np.argmax(rms))
            whole = math.sqrt(float(np.nanmean(self.joints_apart**2)))
            yield "joints apart rms deg", "", "", f"{math.degrees(whole):.2f}"
            yield "most apart", "", "", f"{self.joint_names[worst]} {math.degrees(rms[worst]):.2f} deg rms"


def compared(one: RecordedRun, other: RecordedRun) -> RunComparison:
    """Compares two runs over the time that both cover."""
    ends = [[table[-1, 0] for table in (run.odometry, run.joints) if len(table)] for run in (one, other)]
    times = np.arange(0.0, max(0.0, min(max(end) for end in ends)), STEP_S)
    both = bool(len(one.odometry) and len(other.odometry) and len(times))
    apart = at(other.odometry, times) - at(one.odometry, times) if both else np.zeros((0, 3))
    names = tuple(name for name in one.joint_names if name in other.joint_names)
    joints = np.zeros((0, len(names)))
    if names and len(one.joints) and len(other.joints) and len(times):
        mine, theirs = ([run.joint_names.index(name) for name in names] for run in (one, other))
        joints = at(other.joints, times)[:, theirs] - at(one.joints, times)[:, mine]
    return RunComparison(one, other, times, apart, names, joints)


def driven(run: RecordedRun) -> tuple[Samples, Samples]:
    """Means (3,) of command and velocity during commands, without their acceleration."""
    if not len(run.velocity):
        return np.zeros(3), np.zeros(3)
    times = run.velocity[:, 0]
    commanded = held(run.command, times, COMMAND_TIMEOUT_S)
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


def _off(run: RecordedRun) -> float:
    """Distance [m] of odometry and truth at the end."""
    if not len(run.truth) or not len(run.odometry):
        return math.nan
    return math.dist(at(run.truth, run.odometry[-1:, 0])[0][:2], run.odometry[-1, 1:3])


def _ratio(done: float, commanded: float) -> float:
    return done / commanded if abs(commanded) >= MIN_SPEED else math.nan


def _tracking(run: RecordedRun) -> float:
    """RMS [deg] of measured minus commanded joints."""
    if not len(run.targets) or not len(run.joints):
        return math.nan
    times = run.joints[(run.joints[:, 0] >= run.targets[0, 0]) & (run.joints[:, 0] <= run.targets[-1, 0])]
    if not len(times):
        return math.nan
    return math.degrees(math.sqrt(float(np.nanmean((times[:, 1:] - at(run.targets, times[:, 0])) ** 2))))
