# SPDX-License-Identifier: Apache-2.0
"""Measures all nodes in one process against one process per node: CPU time, memory, and time to the sitting robot.

Both graphs walk in namespaces of one private ROS domain on this computer. They are measured alternately, while the
other one is paused, so that other load on the computer affects both. A graph is watched if a program subscribes to its
topics.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from graph_load import (
    CPU_WINDOW_S,
    READY_S,
    SETTLE_S,
    TURNS,
    NotReadyError,
)
from nav_msgs.msg import Odometry
from process_group import ProcessGroup, group
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from topic_receiver import ReceiverSide, TopicReceiver

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.shared_process import merged
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.ros.transport.loopback import private_domain

CASES: Mapping[str, Mapping[str, object]] = {
    "simulation": {"web": False},
    "simulation_page_bus": {"web": True, "web_port": 0, "bus": "feetech_st"},
}
SEPARATE = "/bench_separate"
ONE = "/bench_one"
WALK = Twist(0.1, 0.0, 0.0)
WATCHED = {
    "foot_targets": MultiDOFJointState,
    "foot_states": MultiDOFJointState,
    "joint_targets": JointState,
    "joint_states": JointState,
    "imu/data": Imu,
    "odom": Odometry,
    "stability_margin": Float64,
}


def measure(robot_file: RobotFile, progress: Callable[[str], None], turns: int = TURNS) -> dict[str, object]:
    """Returns `one_process`, its figures by case. Raises NotReadyError, NodeExitError."""
    with private_domain():
        return {"one_process": {name: _case(name, robot_file, progress, turns) for name in CASES}}


def _case(name: str, robot_file: RobotFile, progress: Callable[[str], None], turns: int) -> dict[str, object]:
    """Both graphs of a case; `start_s` is from the start of the one process to the sitting robot."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hexapod_bench_"))
        receiver = stack.enter_context(TopicReceiver(robot_file.robot))
        sides = {space: receiver.side(space, echo=False) for space in (SEPARATE, ONE)}
        specs = {space: _specs(robot_file, space, CASES[name], Path(folder, space.strip("/"))) for space in sides}
        progress(f"one process: {name}, waiting for both graphs to walk")
        began = time.monotonic()
        groups = {ONE: stack.enter_context(group((merged(specs[ONE]),), progress))}
        _reach(receiver, sides[ONE], "sitting")
        start = time.monotonic() - began
        groups[SEPARATE] = stack.enter_context(group(specs[SEPARATE], progress))
        _reach(receiver, sides[SEPARATE], "sitting")
        for space, side in sides.items():
            receiver.call(Trigger, f"{space}/stand", READY_S)
            _reach(receiver, side, "standing")
            side.twist = WALK
        for side in sides.values():
            _reach(receiver, side, "walking")
        found: dict[str, object] = {"start_s": round(start, 2)}
        for title in ("unwatched", "watched"):
            if title == "watched":
                receiver.watch(sides, WATCHED)
            progress(f"one process: {name}, {title}")
            found[title] = _compared(receiver, sides, groups, turns)
        return found


def _specs(
    robot_file: RobotFile, space: str, case: Mapping[str, object], port: Path
) -> tuple[node_graph.NodeSpec, ...]:
    bus = {"servo_port": port} if "bus" in case else {}
    given = {"robot": robot_file.path, "namespace": space, "enable_stamped_cmd_vel": False, **case, **bus}
    return node_graph.specs("sim", given)


def _reach(receiver: TopicReceiver, side: ReceiverSide, state: str) -> None:
    if not receiver.spin(READY_S, side, lambda: side.state == state):
        raise NotReadyError(f"the simulated robot is not {state} (gait_state: {side.state or 'none'})")


def _compared(
    receiver: TopicReceiver, sides: Mapping[str, ReceiverSide], groups: Mapping[str, ProcessGroup], turns: int
) -> dict[str, object]:
    """CPU load [%] of one core, memory [MB] (PSS), and their ratios."""
    used: dict[str, list[float]] = {space: [] for space in groups}
    for _ in range(turns):
        for space, each in groups.items():
            for other in groups.values():
                other.pause()
            each.resume()
            receiver.spin(SETTLE_S, sides[space])
            before = sum(each.cpu().values())
            receiver.spin(CPU_WINDOW_S, sides[space])
            used[space].append((sum(each.cpu().values()) - before) / CPU_WINDOW_S)
    for each in groups.values():
        each.resume()
    cpu = {space: 100.0 * median(values) for space, values in used.items()}
    memory = {space: sum(each.memory().values()) for space, each in groups.items()}
    rows = {"cpu_percent": cpu, "memory_mb": memory}
    return {
        title: {
            "one": round(values[ONE], 1),
            "ratio": round(values[ONE] / values[SEPARATE], 3),
            "separate": round(values[SEPARATE], 1),
        }
        for title, values in rows.items()
    }
