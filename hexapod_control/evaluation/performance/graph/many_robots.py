"""Several robots on one machine: CPU time and latency of each, while all of them walk over loopback servos.

Every robot is the graph `bringup` in a namespace of its own, one process per node, 50 Hz, without physics and page.
Latency is the age of joint_targets at the listener, from the stamp of the planner's tick. Processes that share a
core cost more each, whatever they do: where the most robots leave no core free at 50 Hz, all is measured again at a
rate at which they may.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from statistics import median, quantiles
from typing import Any

from hexapod_control.bringup import node_graph
from hexapod_control.core.robot import Robot
from hexapod_control.evaluation.performance.graph.graph_load import READY, NotReadyError, ProgressReport, private_domain
from hexapod_control.evaluation.performance.graph.process_group import ProcessGroup, group

COUNTS = (1, 2, 4)
RATES = (50.0, 10.0)  # [Hz] of planner and servos
RATED = ("gait_planner", "servo_driver")
WINDOW, SETTLE = 8.0, 1.5  # [s]
FREE = 0.8  # of the machine's CPUs in use at most, to say that cores were free


def measure(robot: Robot, name: str, progress: ProgressReport, counts: Sequence[int] = COUNTS) -> dict[str, object]:
    """`robots`: one row per count, and how much dearer a robot is among many. Raises NotReadyError, NodeDied."""
    rows: list[dict[str, Any]] = []
    growth: list[dict[str, Any]] = []
    with private_domain():
        for rate in RATES:
            series = _series(robot, name, counts, rate, progress)
            free = all(row["cores_free"] for row in series)
            rows, growth = [*rows, *series], [*growth, {**_growth(series), "cores_free": free}]
            if free:
                break
    found: dict[str, object] = {"rows": rows, "growth": growth}
    if not free:
        found["note"] = "no core was always free, for the robots or for others: part of the growth comes from that"
    return {"robots": found}


def _growth(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """From the first row to the last; CPU time per row of joints, which a busy machine makes fewer of."""
    if len(rows) < 2:
        return {}
    first, last = rows[0], rows[-1]
    return {
        "robots": last["robots"],
        "rate_hz": last["rate_hz"],
        "cpu": round(last["cpu_us_per_row"] / first["cpu_us_per_row"], 3),
        "latency": round(last["latency_us"] / first["latency_us"], 3),
    }


def _series(
    robot: Robot, name: str, counts: Sequence[int], rate: float, progress: ProgressReport
) -> list[dict[str, Any]]:
    """The figures of so many robots that walk at the same time: more and more of them."""
    from hexapod_control.evaluation.performance.graph.graph_load import _standing
    from hexapod_control.evaluation.performance.graph.topic_receiver import FORWARD, TopicReceiver

    rows, groups, sides = [], [], []
    with ExitStack() as stack:
        receiver = stack.enter_context(TopicReceiver(robot, _standing(robot)))
        for count in counts:
            progress(f"robots: {count} at {rate:g} Hz, waiting for all to walk")
            for k in range(len(groups), count):
                space = f"/bench_robot_{k + 1}"
                groups.append(stack.enter_context(group(_specs(name, space, rate), progress)))
                sides.append(receiver.side(space, echo=False))
            _walk(receiver, sides, FORWARD)
            _spin(receiver, sides, SETTLE)
            progress(f"robots: {count}, measuring")
            rows.append({"robots": count, "rate_hz": rate, **_measured(receiver, sides, groups)})
    return rows


def _measured(receiver: Any, sides: Sequence[Any], groups: Sequence[ProcessGroup]) -> dict[str, Any]:
    """The figures of robots that walk."""
    for side in sides:
        side.ages = []
    before, busy = _cpu(groups), _busy()
    _spin(receiver, sides, WINDOW)
    each = [100.0 * (a - b) / WINDOW for a, b in zip(_cpu(groups), before, strict=True)]
    share = (_busy() - busy) / (WINDOW * len(os.sched_getaffinity(0)))
    ages = [1e6 * age for side in sides for age in side.ages or ()]
    return _figures(len(sides), each, ages, share)


def _figures(count: int, each: list[float], ages: list[float], share: float) -> dict[str, Any]:
    """`share` is that of all CPUs in use, by whomever."""
    return {
        "cpu_percent_each": round(sum(each) / count, 2),
        "cpu_us_per_row": round(1e4 * WINDOW * sum(each) / len(ages), 1),
        "latency_us": round(median(ages), 1),
        "latency_p95_us": round(quantiles(ages, n=20)[-1], 1),
        "rows_per_second_each": round(len(ages) / count / WINDOW, 1),
        "machine_busy": round(share, 2),
        "cores_free": share <= FREE,
    }


def _specs(name: str, space: str, rate: float) -> tuple[node_graph.NodeSpec, ...]:
    given = {"robot": name, "namespace": space, "enable_stamped_cmd_vel": "false", "stand_on_start": "true"}
    return tuple(
        replace(spec, parameters={**spec.parameters, "control_rate": rate}) if spec.executable in RATED else spec
        for spec in node_graph.specs("bringup", given)
    )


def _walk(receiver: Any, sides: Sequence[Any], twist: Any) -> None:
    """Waits until those that do not walk yet stand, then until they walk."""
    new = [side for side in sides if side.state != "walking"]
    for state, command in (("standing", None), ("walking", twist)):
        for side in new:
            side.twist = command or side.twist
        for side in new:
            if not receiver.spin(READY, side, lambda side=side, state=state: side.state == state, also=sides):
                raise NotReadyError(f"a robot is not {state} after {READY:g} s (gait_state: {side.state or 'none'})")


def _spin(receiver: Any, sides: Sequence[Any], seconds: float) -> None:
    receiver.spin(seconds, sides[0], also=sides)


def _cpu(groups: Sequence[ProcessGroup]) -> list[float]:
    return [sum(one.cpu().values()) for one in groups]


def _busy() -> float:
    """CPU time [s] of the whole machine since it was started, all but idling."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(text) for text in file.readline().split()[1:9]]
    return float(sum(fields) - fields[3] - fields[4]) / float(os.sysconf("SC_CLK_TCK"))
