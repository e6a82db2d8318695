# SPDX-License-Identifier: Apache-2.0
"""The program that runs all nodes of a robot in one process, with one executor (arguments: bringup/shared_process.py).

Messages between these nodes are passed as objects (ros/transport/handover.py). An exception in a callback stops
the robot as in separate processes; here the planner stops it also when the callback of another node fails.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from hexapod_control.bringup.node_graph import PACKAGE, NodeSpec
from hexapod_control.bringup.shared_process import ending_order, parts, ros_arguments
from hexapod_control.nodes.announcements.graph_presence import PLANNER, GraphPresence, OlderGraphSearch
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.node_process import run_together
from hexapod_control.ros.transport.handover import Handover

CLASSES = {
    "gait_planner": "GaitPlannerNode",
    "imu_driver": "ImuDriverNode",
    "inverse_kinematics": "InverseKinematicsNode",
    "link_frames": "LinkFramesNode",
    "mujoco_sim": "MujocoSimNode",
    "odometry": "OdometryNode",
    "servo_driver": "ServoDriverNode",
    "terrain_map": "TerrainMapNode",
    "web": "WebNode",
}
UNANNOUNCED = ("imu_driver", "link_frames", "terrain_map", "web")  # nodes that may run several times


def nodes(specs: Sequence[NodeSpec], handover: Handover) -> list[GuardedNode]:
    """Creates the nodes of a process, in the order in which they have to end.

    Raises what their constructors raise, and ParameterError if another graph runs in the same domain and namespace.
    """
    listening = OlderGraphSearch(*(s.executable for s in specs if s.executable not in UNANNOUNCED))
    modules = {spec.executable: import_module(f"{PACKAGE}.nodes.{spec.executable}.{spec.executable}") for spec in specs}
    with listening.finish() as lock:
        created: dict[str, GuardedNode] = {}
        for spec in specs:
            kind = getattr(modules[spec.executable], CLASSES[spec.executable])
            created[spec.executable] = node = kind(handover=handover, cli_args=ros_arguments(spec))
            if spec.executable not in UNANNOUNCED:
                GraphPresence(node)
        for name, node in created.items():
            node.partners = tuple(created[other] for other in (PLANNER,) if other in created and other != name)
        ending = [created[spec.executable] for spec in ending_order(specs)]
        ending[-1].closing.push(lock.pop_all())
    return ending


def run(specs: Sequence[NodeSpec], args: Sequence[str] | None = None) -> int:
    """Runs the nodes until they are asked to end; `args` are ROS arguments for all. Returns the exit code."""
    return run_together(lambda: nodes(specs, Handover()), args)


def main() -> int:
    """Runs the nodes of the command line. Returns the exit code."""
    words = sys.argv[1:]
    count = words.index("--ros-args") if "--ros-args" in words else len(words)
    return run(parts(words[:count]))


if __name__ == "__main__":
    sys.exit(main())
