"""Reports edits of the files with which the robot was started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.started_files import StartedFile


def report_edits(node: GuardedNode, *paths: Path) -> None:
    """Reports every edit of these files once, from now until the node ends."""
    files = [StartedFile(path) for path in paths]

    def look() -> list[tuple[Path, str]]:
        return [(file.path, text) for file in files if (text := file.edit())]

    def report(edits: Sequence[tuple[Path, str]]) -> None:
        for path, text in edits:
            node.report(f"edited {path}", ReportLevel.WARNING, text)

    node.duties.append(lambda: node.threads.run_outside(look, report))
