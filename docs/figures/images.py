# SPDX-License-Identifier: Apache-2.0
"""Regenerates the pictures of the documentation: `make docs-images`, or `python docs/figures/images.py [SCRIPT ...]`.

A script that does not write all its pictures is a failure. Needs ROS 2, MuJoCo, OpenGL and Chromium; the walks and the
page run in real time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

FIGURES = Path(__file__).parent
IMAGES = FIGURES.parent / "images"
MOTIONS = sorted(path.stem for path in (FIGURES.parents[1] / "config" / "motions").glob("*.yaml"))
PICTURES = {  # by script, in docs/images
    "drawings/architecture": tuple(
        f"architecture/{name}.svg" for name in ("data-flow", "folders", "planner-states", "tick")
    ),
    "drawings/own_robot": tuple(f"own-robot/{name}.svg" for name in ("body-above", "hip-above", "leg-side")),
    "drawings/gamepad": ("gamepad.svg",),
    "climb": ("climb.gif",),
    "gallery": ("gallery.png",),
    "plots": ("gaits.png", "own-gait.png", "paths.png", "speeds.png", "swing.png"),
    "motions": tuple(f"motions/{name}.gif" for name in MOTIONS),
    "nav2": ("nav2.gif",),
    "patrol": ("patrol.png",),
    "terminal": ("calibrate-rest.svg", "calibrate-wiggle.svg", "servos-watch.svg"),
    "walks": ("rough.png", "walk.gif"),
    "interview": ("interview.png",),
    "page": ("page-estop.png", "page-map.png", "page-phone.png", "page.png"),
}


def fault(script: str) -> str:
    """Runs a script; returns what is wrong with its result, or nothing."""
    start = time.time()
    print(f"{script} ...", flush=True)
    code = subprocess.run([sys.executable, FIGURES / f"{script}.py"], check=False).returncode
    if code:
        return f"{script}: exit code {code}"
    old = [name for name in PICTURES[script] if not _written_since(IMAGES / name, start)]
    return f"{script}: did not write {', '.join(old)}" if old else ""


def _written_since(path: Path, start: float) -> bool:
    return path.is_file() and path.stat().st_mtime >= start


def main() -> int:
    """Runs the scripts named, or all; the exit code is 1 if one fails."""
    chosen = sys.argv[1:] or list(PICTURES)
    unknown = [name for name in chosen if name not in PICTURES]
    if unknown:
        print(f"no script {', '.join(unknown)}; there are {', '.join(PICTURES)}", file=sys.stderr)
        return 2
    faults = [each for each in map(fault, chosen) if each]
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
