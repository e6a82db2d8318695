# SPDX-License-Identifier: Apache-2.0
"""The films of docs/motions.md, made in lock step: `python docs/figures/motions.py [NAME ...]` (needs MuJoCo)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from shipped_motions import MOTION, MotionRun, perform

from hexapod_control.config.motion_file import known_motions, load_motion
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.sim.rendering.film import Film

IMAGES = Path(__file__).parent.parent / "images" / "motions"
SIZE = (320, 220)  # [px]
FPS = 8.0


def film(name: str, path: Path) -> None:
    """Plays a motion on the simulated phantomx and films it; a PNG is a sheet of stills."""
    robot_file = load("phantomx")
    made: list[Film] = []

    def watch(run: MotionRun) -> None:
        if not made:
            made.append(Film(run.simulation, path, FPS, SIZE))
        if made[0].due:
            made[0].frame(run.player.phase)

    motion = load_motion(name, robot_file.robot)
    found = perform(robot_file.robot, urdf(robot_file), motion, watch)
    made[0].close()
    broken = ", ".join(found.broken(MOTION)) or "none"
    print(f"{path}: {found.time:.1f} s, {path.stat().st_size / 1000:.0f} kB, limits broken: {broken}")


def main() -> None:
    """Films the motions named, or all that come with the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help="motions (default: all)")
    parser.add_argument("--stills", action="store_true", help="PNG sheets of stills instead of films")
    args = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    for name in args.name or known_motions():
        film(name, IMAGES / f"{name}{'.png' if args.stills else '.gif'}")


if __name__ == "__main__":
    main()
