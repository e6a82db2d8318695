# SPDX-License-Identifier: Apache-2.0
"""Measures the node graph: latency of joint_targets and CPU time, compared with minimal relays.

Both graphs run in namespaces of one private ROS domain on this computer. They are measured alternately, while the other
one is paused, so that other load on the computer affects both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median, quantiles

import numpy as np
from process_group import group, relay
from topic_receiver import FORWARD, TopicReceiver

from hexapod_control.bringup import node_graph
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.ros.transport.loopback import TRANSPORT, private_domain

TURNS = 5  # measurements of each graph
# measured in one turn
LATENCY_WINDOW_S = 3.0
CPU_WINDOW_S = 4.0
SETTLE_S = 1.0  # before each measurement
READY_S = 40.0  # time limit for all processes to start and the robot to walk
# namespaces of the graph and of the relays
REAL = "/bench_real"
BARE = "/bench_bare"
COUNTERPARTS = {  # role of the relay in place of each node
    "gait_planner": "source",
    "inverse_kinematics": "converter",
    "mujoco_sim": "hardware",
    "odometry": "reckoning",
}
ProgressReport = Callable[[str], None]


class NotReadyError(RuntimeError):
    """The robot of a graph does not start to walk."""


def measure(robot_file: RobotFile, progress: ProgressReport, turns: int = TURNS) -> dict[str, object]:
    """Returns `graph_latency` and `graph_cpu` of the robot. Raises NotReadyError, NodeExitError."""
    with private_domain():
        latency = _latency(robot_file, progress, turns)
        return {"graph_latency": latency, "graph_cpu": _cpu(robot_file, progress, turns)}


def _latency(robot_file: RobotFile, progress: ProgressReport, turns: int) -> dict[str, object]:
    """Latency from the start of the planner's tick to the subscriber of joint_targets."""
    robot = robot_file.robot
    path = str(robot_file.path)
    real = (
        relay("timed_planner", REAL, robot=path, enable_stamped_cmd_vel=False),
        node_graph.NodeSpec("inverse_kinematics", parameters={"robot": path}, namespace=REAL),
    )
    bare = (relay("source", BARE), relay("converter", BARE))
    ages: dict[str, list[float]] = {REAL: [], BARE: []}
    with (
        group(real, progress) as nodes,
        group(bare, progress) as relays,
        TopicReceiver(robot) as receiver,
    ):
        sides = {space: receiver.side(space, echo=True) for space in (REAL, BARE)}
        groups = {REAL: nodes, BARE: relays}
        sides[REAL].twist = FORWARD
        progress("graph: waiting for the robot to walk")
        if not receiver.spin(READY_S, sides[REAL], lambda: sides[REAL].state == "walking" and sides[REAL].received > 0):
            raise NotReadyError(f"the robot does not walk (gait_state: {sides[REAL].state or 'none'})")
        if not receiver.spin(READY_S, sides[BARE], lambda: sides[BARE].received > 0):
            raise NotReadyError("the minimal relays do not publish")
        for turn in range(turns):
            progress(f"graph: latency {turn + 1}/{turns}")
            for space in (REAL, BARE):
                groups[BARE if space == REAL else REAL].pause()
                groups[space].resume()
                side = sides[space]
                receiver.spin(SETTLE_S, side)
                side.ages = ages[space]
                receiver.spin(LATENCY_WINDOW_S, side)
                side.ages = None
    return _ages(ages[REAL], ages[BARE], sides[REAL].planning)


def _ages(real: list[float], bare: list[float], planning: list[float]) -> dict[str, object]:
    """Figures of the latencies [s]: `ratio` from the start of the tick, `ratio_from_row` from the end of planning."""
    graph, floor, plan = (1e6 * median(values) for values in (real, bare, planning))
    return {
        "planning_us": round(plan, 1),
        "ratio_from_row": round((graph - plan) / floor, 3),
        "transport": TRANSPORT,
        "graph_us": round(graph, 1),
        "bare_us": round(floor, 1),
        "ratio": round(graph / floor, 3),
        "graph_p95_us": round(1e6 * quantiles(real, n=20)[-1], 1),
        "bare_p95_us": round(1e6 * quantiles(bare, n=20)[-1], 1),
        "samples": [len(real), len(bare)],
    }


def _cpu(robot_file: RobotFile, progress: ProgressReport, turns: int) -> dict[str, object]:
    """CPU time of the simulation graph while the robot walks at 50 Hz, without programs of an operator."""
    robot = robot_file.robot
    given = {"robot": str(robot_file.path), "namespace": REAL, "enable_stamped_cmd_vel": "false"}
    given["stand_on_start"] = "true"
    real = tuple(spec for spec in node_graph.specs("sim", given) if spec.executable in COUNTERPARTS)
    bare = tuple(relay(role, BARE) for role in COUNTERPARTS.values())
    used: dict[str, list[float]] = {role: [] for pair in COUNTERPARTS.items() for role in pair}
    with (
        group(real, progress) as nodes,
        group(bare, progress) as relays,
        TopicReceiver(robot) as receiver,
    ):
        sides = {space: receiver.side(space, echo=False) for space in (REAL, BARE)}
        groups = {REAL: nodes, BARE: relays}
        if not receiver.spin(READY_S, sides[BARE], lambda: sides[BARE].received > 0):
            raise NotReadyError("the minimal relays do not publish")
        relays.pause()
        progress("graph: waiting for the simulated robot to walk")
        side = sides[REAL]
        receiver.spin(READY_S, side, lambda: side.state == "standing")
        side.twist = FORWARD
        if not receiver.spin(READY_S, side, lambda: side.state == "walking"):
            raise NotReadyError(f"the simulated robot does not walk (gait_state: {side.state or 'none'})")
        for turn in range(turns):
            progress(f"graph: CPU {turn + 1}/{turns}")
            for space in (REAL, BARE):
                groups[BARE if space == REAL else REAL].pause()
                groups[space].resume()
                receiver.spin(SETTLE_S, sides[space])
                before = groups[space].cpu()
                receiver.spin(CPU_WINDOW_S, sides[space])
                for role, seconds in groups[space].cpu().items():
                    used[role].append((seconds - before[role]) / CPU_WINDOW_S)
    return _shares(used)


def _shares(used: Mapping[str, list[float]]) -> dict[str, object]:
    """CPU load [%] of one core, mean over the turns."""
    percent = {role: 100.0 * float(np.mean(values)) for role, values in used.items()}

    def compared(real: float, bare: float) -> dict[str, float]:
        return {"bare_percent": round(bare, 2), "graph_percent": round(real, 2), "ratio": round(real / bare, 2)}

    found: dict[str, object] = {role: compared(percent[role], percent[other]) for role, other in COUNTERPARTS.items()}
    without = [role for role in COUNTERPARTS if role != "mujoco_sim"]
    for title, roles in (("total", list(COUNTERPARTS)), ("total_without_physics", without)):
        found[title] = compared(sum(percent[r] for r in roles), sum(percent[COUNTERPARTS[r]] for r in roles))
    return found
