"""The scripted drive: what is commanded, and what came of it by ground truth."""

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

SETTLE = 0.9  # [s] at the beginning of a segment that are not measured: the ramp; at least one cycle of the gait
SHORT, CYCLES = 3.3, 3.2  # [s] and cycles of the gait that a segment takes unless told otherwise
GOOD, BAD = 0.05, 0.1  # distance of a ratio from 1: up to the first it is good, beyond the second it is bad
SHARE = 0.95  # of what the robot can do that the drive uses, where it cannot do all of it


@dataclass(frozen=True, slots=True)
class DriveSegment:
    """One part of the drive."""

    name: str
    twist: Twist


SCRIPT = (
    DriveSegment("forward", Twist(0.1, 0.0, 0.0)),
    DriveSegment("arc", Twist(0.1, 0.0, 0.4)),
    DriveSegment("strafe", Twist(0.0, 0.1, 0.0)),
    DriveSegment("turn on the spot", Twist(0.0, 0.0, 0.5)),
)


def script_for(robot: Robot, gait: Gait) -> tuple[DriveSegment, ...]:
    """The drive, slower as a whole for a robot and gait that cannot do all of it."""
    capabilities = Capabilities.of(robot)
    factor = 1.0
    for segment in SCRIPT:
        most = capabilities.envelope.limit(gait, robot.walk.height, 1.0, segment.twist).twist
        factor = min(factor, *(a / b for a, b in zip(most, segment.twist, strict=True) if b))
    if factor == 1.0:
        return SCRIPT
    # Rounded down, so that the table shows the very command.
    return tuple(
        DriveSegment(s.name, Twist(*(math.floor(v * SHARE * factor * 1000.0) / 1000.0 for v in s.twist)))
        for s in SCRIPT
    )


class DriveResult(NamedTuple):
    """One line of the table."""

    segment: DriveSegment
    achieved: Twist

    @property
    def ratios(self) -> tuple[float, ...]:
        """Achieved over commanded along the axes that were commanded."""
        return tuple(done / told for done, told in zip(self.achieved, self.segment.twist, strict=True) if told)

    @property
    def worst(self) -> float:
        """Greatest distance of a ratio from 1."""
        return max((abs(ratio - 1.0) for ratio in self.ratios), default=0.0)


class DriveSpan(NamedTuple):
    """When a segment was driven, in the time of the samples."""

    segment: DriveSegment
    start: float  # [s]
    end: float  # [s]


def usual_seconds(cycle: float) -> float:
    """Length [s] of a segment for a gait with this cycle [s]."""
    return max(SHORT, CYCLES * cycle)


def achieved(truth: TrajectoryLog, span: DriveSpan, cycle: float) -> Twist:
    """Mean twist over the last whole gait cycles [s] of a span, its ramp left out."""
    settle = max(SETTLE, cycle)
    cycles = max(1, math.floor((span.end - span.start - settle) / cycle + 1e-6))
    cycle = min(cycle, (span.end - span.start) / cycles)
    marks = [truth.at(span.end - k * cycle) for k in range(cycles, -1, -1)]
    twists = [log(a.inverse() @ b, cycle) for a, b in pairwise(marks)]
    return Twist(*(sum(values) / cycles for values in zip(*twists, strict=True)))


def table(results: Sequence[DriveResult]) -> list[str]:
    """Commanded against achieved, aligned."""
    head = ("segment", "commanded vx vy wz", "achieved vx vy wz", "ratio", "")
    rows = [head]
    for result in results:
        mark = "" if result.worst <= GOOD else "outside 0.95-1.05" if result.worst <= BAD else "OUTSIDE 0.9-1.1"
        ratios = " / ".join(f"{ratio:.3f}" for ratio in result.ratios)
        rows.append((result.segment.name, _spell(result.segment.twist), _spell(result.achieved), ratios, mark))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _spell(twist: Twist) -> str:
    return " ".join(f"{value:7.3f}" for value in twist)


def odometry_lines(truth: TrajectoryLog, odometry: TrajectoryLog, start: float, end: float) -> list[str]:
    """Error of the odometry over a drive, and the height of the body in it, by ground truth."""
    samples = truth.between(start, end)
    if len(samples) < 2 or len(odometry) < 2:
        return ["odometry: no samples"]
    way = sum(math.dist(a.pose[:2], b.pose[:2]) for a, b in pairwise(samples))
    moved = truth.at(start).inverse() @ truth.at(end)
    told = odometry.at(start).inverse() @ odometry.at(end)
    error = math.dist(moved[:2], told[:2])
    turn = math.degrees(abs(wrap(moved.yaw - told.yaw)))
    heights = [sample.height for sample in samples]
    share = f" = {100.0 * error / way:.2f} % of {way:.2f} m" if way > 0.0 else ""
    return [
        f"odometry error  {1000.0 * error:.1f} mm{share}, heading {turn:.2f} deg",
        f"body height     {1000.0 * sum(heights) / len(heights):.1f} mm, from "
        f"{1000.0 * min(heights):.1f} to {1000.0 * max(heights):.1f} mm",
    ]
