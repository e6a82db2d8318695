# SPDX-License-Identifier: Apache-2.0
"""The film of docs/footholds.md, made in lock step: `python docs/figures/climb.py` (needs MuJoCo and OpenGL).

Phantomx climbs five steps of 0.35 of its leg by the map of a simulated depth camera, in the frame of its own odometry.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from terrain import Course, options_of, standing, walk

from hexapod_control.sim.rendering.film import Film

IMAGE = Path(__file__).parent.parent / "images" / "climb.gif"
SEED = 1
SIZE = (320, 220)  # [px]
FPS = 2.0  # of simulated time
SPEED = 4.0
AZIMUTH_DEG = 50.0  # from behind, where the steps are seen
END_M = 2.6  # of x, behind the last step


def main() -> None:
    """Walks and films; fails if the robot does not get up."""
    options = options_of(["--map", "mast", "--seeds", str(SEED), "1"])
    run, _ = standing(options, SEED)
    film = Film(run.simulation, IMAGE, FPS, SIZE, SPEED, AZIMUTH_DEG)

    def watch() -> None:
        if film.due:
            film.frame()

    result = walk(run, SEED, Course(((0.0, END_M),), END_M), options, watch)
    film.close()
    print(f"{IMAGE}: {result.end}, {result.seconds:.1f} s, {IMAGE.stat().st_size / 1000:.0f} kB")
    sys.exit(0 if result.end == "passed" else 1)


if __name__ == "__main__":
    main()
