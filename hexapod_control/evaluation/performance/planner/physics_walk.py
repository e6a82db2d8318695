"""The quality of walks in physics as data: the figures of evaluation/quality/flat_ground.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from hexapod_control.config.robots.robot_file import RobotFile


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns `physics`, a list of cases. Raises ModuleNotFoundError without MuJoCo."""
    from hexapod_control.evaluation.quality import flat_ground

    cases = []
    for case, found in flat_ground.rows(robot_file):
        progress(f"physics: {case.name}")
        entry: dict[str, object] = {
            "gait": case.course.gait,
            "twist": list(case.course.twist),
            "servo": case.servo or "robot file",
        }
        if isinstance(found, Exception):
            entry["failed"] = str(found)
        else:
            broken = case.limits.broken_by(found)
            entry |= {name: _plain(value) for name, value in asdict(found).items()}
            entry |= {"ratios": list(found.ratios), "limits_kept": not broken, "limits_broken": list(broken)}
        cases.append(entry)
    return {"physics": cases}


def _plain(value: Any) -> Any:
    """Converts a value for JSON: pairs of body names joined, numbers rounded."""
    if isinstance(value, dict):
        return {" - ".join(key): count for key, count in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
