"""The scripted drive of `hexapod sim --demo`, and the table of commanded and achieved velocities by ground truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from hexapod_control.clients.trajectory_log import TrajectoryLog
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.se2 import Twist, log, wrap
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.capabilities import Capabilities

SETTLING_TIME_S = 0.9  # left out at the start of a segment, as the robot accelerates; at least one gait cycle
MIN_SEGMENT_S, MIN_SEGMENT_CYCLES = 3.3, 3.2  # default length of a segment
# Deviation of a ratio from 1: good up to the first, bad beyond the second.
GOOD_DEVIATION, BAD_DEVIATION = 0.05, 0.1
SPEED_SHARE = 0.95  # of the maximum speed, for a robot that is too slow for the script


@dataclass(frozen=True, slots=True)
class DriveSegment:
    """One part of the drive, with a constant commanded twist."""

    name: str
    twist: Twist


SCRIPT = (
    DriveSegment("forward", Twist(0.1, 0.0, 0.0)),
    DriveSegment("arc", Twist(0.1, 0.0, 0.4)),
    DriveSegment("strafe", Twist(0.0, 0.1, 0.0)),
    DriveSegment("turn on the spot", Twist(0.0, 0.0, 0.5)),
)


def script_for(robot: Robot, gait: Gait) -> tuple[DriveSegment, ...]:
    """Returns the script, scaled down uniformly if the robot is too slow for it in this gait."""
    capabilities = Capabilities.of(robot)
    factor = 1.0
    for segment in SCRIPT:
        region_share = capabilities.region_share(gait)
        most = capabilities.envelope.limit(gait, robot.walk.height, region_share, segment.twist).twist
        factor = min(factor, *(a / b for a, b in zip(most, segment.twist, strict=True) if b))
    if factor == 1.0:
        return SCRIPT
    # Rounded down, so that the table shows exactly the command.
    return tuple(
        DriveSegment(s.name, Twist(*(math.floor(v * SPEED_SHARE * factor * 1000.0) / 1000.0 for v in s.twist)))
        for s in SCRIPT
    )


class DriveResult(NamedTuple):
    """Commanded and achieved twist of one segment: a line of the table."""

    segment: DriveSegment
    achieved: Twist

    @property
    def ratios(self) -> tuple[float, ...]:
        """Achieved over commanded velocity along the commanded axes."""
        return tuple(
            achieved / commanded
            for achieved, commanded in zip(self.achieved, self.segment.twist, strict=True)
            if commanded
        )

    @property
    def worst(self) -> float:
        """Maximum deviation of a ratio from 1."""
        return max((abs(ratio - 1.0) for ratio in self.ratios), default=0.0)


class DriveSpan(NamedTuple):
    """A segment and when it was driven, in the time of the trajectory samples."""

    segment: DriveSegment
    start: float  # [s]
    end: float  # [s]


def default_segment_time(cycle: float) -> float:
    """Returns the default duration [s] of a segment for a gait with this cycle time [s]."""
    return max(MIN_SEGMENT_S, MIN_SEGMENT_CYCLES * cycle)


def achieved(truth: TrajectoryLog, span: DriveSpan, cycle: float) -> Twist:
    """Returns the mean twist over the last whole gait cycles of a span; `cycle` [s]. Leaves out the acceleration."""
    settle = max(SETTLING_TIME_S, cycle)
    cycles = max(1, math.floor((span.end - span.start - settle) / cycle + 1e-6))
    cycle = min(cycle, (span.end - span.start) / cycles)
    marks = [truth.at(span.end - k * cycle) for k in range(cycles, -1, -1)]
    twists = [log(a.inverse() @ b, cycle) for a, b in pairwise(marks)]
    return Twist(*(sum(values) / cycles for values in zip(*twists, strict=True)))


def table(results: Sequence[DriveResult]) -> list[str]:
    """Returns the lines of the table of commanded and achieved velocities, with aligned columns."""
    head = ("segment", "commanded vx vy wz", "achieved vx vy wz", "ratio", "")
    rows = [head]
    for result in results:
        mark = ""
        if result.worst > BAD_DEVIATION:
            mark = "OUTSIDE 0.9-1.1"
        elif result.worst > GOOD_DEVIATION:
            mark = "outside 0.95-1.05"
        ratios = " / ".join(f"{ratio:.3f}" for ratio in result.ratios)
        rows.append((result.segment.name, _as_text(result.segment.twist), _as_text(result.achieved), ratios, mark))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _as_text(twist: Twist) -> str:
    return " ".join(f"{value:7.3f}" for value in twist)


def odometry_lines(truth: TrajectoryLog, odometry: TrajectoryLog, start: float, end: float) -> list[str]:
    """Returns lines with odometry error and body height of a drive from `start` to `end` [s], by ground truth."""
    samples = truth.between(start, end)
    if len(samples) < 2 or len(odometry) < 2:
        return ["odometry: no samples"]
    distance = sum(math.dist(a.pose[:2], b.pose[:2]) for a, b in pairwise(samples))
    moved = truth.at(start).inverse() @ truth.at(end)
    estimated = odometry.at(start).inverse() @ odometry.at(end)
    error = math.dist(moved[:2], estimated[:2])
    turn = math.degrees(abs(wrap(moved.yaw - estimated.yaw)))
    heights = [sample.height for sample in samples]
    share = f" = {100.0 * error / distance:.2f} % of {distance:.2f} m" if distance > 0.0 else ""
    return [
        f"odometry error  {1000.0 * error:.1f} mm{share}, heading {turn:.2f} deg",
        f"body height     {1000.0 * sum(heights) / len(heights):.1f} mm, from "
        f"{1000.0 * min(heights):.1f} to {1000.0 * max(heights):.1f} mm",
    ]
