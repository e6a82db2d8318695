# SPDX-License-Identifier: Apache-2.0
"""Reports about the robot file: edits since the robot was started, and implausible values, once per graph.

A thread looks for edits, because a disk may take long.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

from hexapod_control.config.robots.robot_file import RobotFile, plausibility_warning
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.graph_identity import started_graph
from hexapod_control.ros.started_files import StartedFile

PERIOD_S = 1.0
MAX_END_S = 1.0  # for a look at the files when the node ends


def report_edits(node: GuardedNode, *paths: Path) -> None:
    """Reports every edit of these files once, from now until the node ends."""
    files = [StartedFile(path) for path in paths]
    ending = threading.Event()

    def look() -> None:
        while not ending.wait(PERIOD_S):
            for file in files:
                if text := file.edit():
                    node.run_in_executor(partial(node.report, f"edited {file.path}", ReportLevel.WARNING, text))

    thread = threading.Thread(target=look, name="edits", daemon=True)
    thread.start()
    node.closing.callback(lambda: thread.join(MAX_END_S))
    node.closing.callback(ending.set)


REPORTING_NODE = "gait_planner"  # part of every graph that moves a robot


def report_implausible_values(node: GuardedNode, file: RobotFile) -> None:
    """Reports implausible values, unless the gait_planner of this node's graph does."""
    text = plausibility_warning(file)
    if text and (node.get_name() == REPORTING_NODE or not started_graph()):
        node.report("robot", ReportLevel.WARNING, text)
