"""Which node warns of implausible values of the robot file: one of those that are started together."""

from __future__ import annotations

from hexapod_control.bringup.graph_identity import started_graph
from hexapod_control.config.robots.robot_file import RobotFile, doubts
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel

SPEAKER = "gait_planner"  # part of every graph that moves a robot


def report_doubts(node: GuardedNode, file: RobotFile) -> None:
    """Warns of implausible values, unless gait_planner has been started with this node and does so."""
    text = doubts(file)
    if text and (node.get_name() == SPEAKER or not started_graph()):
        node.report("robot", ReportLevel.WARNING, text)
