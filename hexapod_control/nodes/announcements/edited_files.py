"""Reports edits of the files with which the robot was started; a thread looks, because a disk may take long."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
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
