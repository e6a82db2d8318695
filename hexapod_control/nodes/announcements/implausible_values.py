"""Warns of implausible values in the robot file, once per graph."""

from __future__ import annotations

from hexapod_control.config.robots.robot_file import RobotFile, plausibility_warning
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.graph_identity import started_graph

REPORTING_NODE = "gait_planner"  # part of every graph that moves a robot


def report_implausible_values(node: GuardedNode, file: RobotFile) -> None:
    """Reports implausible values, unless the gait_planner of this node's graph does."""
    text = plausibility_warning(file)
    if text and (node.get_name() == REPORTING_NODE or not started_graph()):
        node.report("robot", ReportLevel.WARNING, text)
