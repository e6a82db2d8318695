# SPDX-License-Identifier: Apache-2.0
"""Measures CPU time and latency of several robots that walk on one computer with loopback servos.

Each robot is the graph `bringup` in its own namespace, one process per node, 50 Hz, without physics and page. Latency
is the age of joint_targets at the subscriber, from the stamp of the planner's tick. Processes that share a core cost
more each: if the largest number of robots leaves no core free at 50 Hz, everything is measured again at a lower rate.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from statistics import median, quantiles
from typing import Any

from graph_load import (
    READY_S,
    NotReadyError,
    ProgressReport,
)
from process_group import ProcessGroup, group
from topic_receiver import FORWARD, ReceiverSide, TopicReceiver

from hexapod_control.bringup import node_graph
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.ros.transport.loopback import private_domain

COUNTS = (1, 2, 4)
RATES_HZ = (50.0, 10.0)  # of planner and driver
RATED = ("gait_planner", "servo_driver")  # nodes with a control rate
WINDOW_S = 8.0
SETTLE_S = 1.5
MAX_BUSY_SHARE = 0.8  # CPU load of all cores up to which a core counts as free
FigureRow = dict[str, Any]  # figures by name


def measure(robot_file: RobotFile, progress: ProgressReport, counts: Sequence[int] = COUNTS) -> dict[str, object]:
    """Returns `robots`: a row for each number of robots, and the growth of the cost per robot.

    Raises NotReadyError, NodeExitError.
    """
    with private_domain():
        return {"robots": until_free(RATES_HZ, lambda rate: _series(robot_file, counts, rate, progress))}


def until_free(rates: Sequence[float], series: Callable[[float], Sequence[FigureRow]]) -> dict[str, object]:
    """Measures a series of rows at one rate [Hz] after the other, until a core was free in all rows of a series.

    Returns all rows, the growth of each series, and a note if no series had a free core.
    """
    rows: list[FigureRow] = []
    growth: list[FigureRow] = []
    for rate in rates:
        measured = series(rate)
        free = all(row["cores_free"] for row in measured)
        rows = [*rows, *measured]
        growth = [*growth, {**_growth(measured), "cores_free": free}]
        if free:
            return {"rows": rows, "growth": growth}
    note = "no core was always free, for the robots or for others: part of the growth comes from that"
    return {"rows": rows, "growth": growth, "note": note}


def _growth(rows: Sequence[FigureRow]) -> FigureRow:
    """Growth from the first row to the last; CPU time is per joint target, as a busy computer publishes fewer."""
    if len(rows) < 2:
        return {}
    first = rows[0]
    last = rows[-1]
    return {
        "robots": last["robots"],
        "rate_hz": last["rate_hz"],
        "cpu": round(last["cpu_us_per_row"] / first["cpu_us_per_row"], 3),
        "latency": round(last["latency_us"] / first["latency_us"], 3),
    }


def _series(robot_file: RobotFile, counts: Sequence[int], rate: float, progress: ProgressReport) -> list[FigureRow]:
    """The figures for each number of robots, in increasing order."""
    rows: list[FigureRow] = []
    groups: list[ProcessGroup] = []
    sides: list[ReceiverSide] = []
    with ExitStack() as stack:
        receiver = stack.enter_context(TopicReceiver(robot_file.robot))
        for count in counts:
            progress(f"robots: {count} at {rate:g} Hz, waiting for all to walk")
            for k in range(len(groups), count):
                space = f"/bench_robot_{k + 1}"
                groups.append(stack.enter_context(group(_specs(robot_file, space, rate), progress)))
                sides.append(receiver.side(space, echo=False))
            _walk(receiver, sides, FORWARD)
            _spin(receiver, sides, SETTLE_S)
            progress(f"robots: {count}, measuring")
            rows.append({"robots": count, "rate_hz": rate, **_measured(receiver, sides, groups)})
    return rows


def _measured(receiver: TopicReceiver, sides: Sequence[ReceiverSide], groups: Sequence[ProcessGroup]) -> FigureRow:
    """Measures robots that walk already."""
    for side in sides:
        side.ages = []
    before = _cpu(groups)
    busy = _busy()
    _spin(receiver, sides, WINDOW_S)
    each = [100.0 * (a - b) / WINDOW_S for a, b in zip(_cpu(groups), before, strict=True)]
    share = (_busy() - busy) / (WINDOW_S * len(os.sched_getaffinity(0)))
    ages = [1e6 * age for side in sides for age in side.ages or ()]
    return _figures(len(sides), each, ages, share)


def _figures(count: int, each: list[float], ages: list[float], share: float) -> FigureRow:
    """Figures of `count` robots: CPU load [%] of each, latencies [us], CPU share of all processes on this computer."""
    return {
        "cpu_percent_each": round(sum(each) / count, 2),
        "cpu_us_per_row": round(1e4 * WINDOW_S * sum(each) / len(ages), 1),
        "latency_us": round(median(ages), 1),
        "latency_p95_us": round(quantiles(ages, n=20)[-1], 1),
        "rows_per_second_each": round(len(ages) / count / WINDOW_S, 1),
        "machine_busy": round(share, 2),
        "cores_free": share <= MAX_BUSY_SHARE,
    }


def _specs(robot_file: RobotFile, space: str, rate: float) -> tuple[node_graph.NodeSpec, ...]:
    given = {
        "robot": str(robot_file.path),
        "namespace": space,
        "enable_stamped_cmd_vel": "false",
        "stand_on_start": "true",
    }
    return tuple(
        replace(spec, parameters={**spec.parameters, "control_rate": rate}) if spec.executable in RATED else spec
        for spec in node_graph.specs("bringup", given)
    )


def _walk(receiver: TopicReceiver, sides: Sequence[ReceiverSide], twist: Twist) -> None:
    """Makes the robots that do not walk yet stand, then walk. Raises NotReadyError."""
    new = [side for side in sides if side.state != "walking"]
    for state, command in (("standing", None), ("walking", twist)):
        for side in new:
            side.twist = command or side.twist
        for side in new:
            if not receiver.spin(READY_S, side, partial(_is, side, state), also=sides):
                raise NotReadyError(f"a robot is not {state} after {READY_S:g} s (gait_state: {side.state or 'none'})")


def _is(side: ReceiverSide, state: str) -> bool:
    return side.state == state


def _spin(receiver: TopicReceiver, sides: Sequence[ReceiverSide], seconds: float) -> None:
    receiver.spin(seconds, sides[0], also=sides)


def _cpu(groups: Sequence[ProcessGroup]) -> list[float]:
    return [sum(one.cpu().values()) for one in groups]


def _busy() -> float:
    """CPU time [s] of all processes on this computer since it started."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(text) for text in file.readline().split()[1:9]]
    return float(sum(fields) - fields[3] - fields[4]) / float(os.sysconf("SC_CLK_TCK"))
