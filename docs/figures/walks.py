# SPDX-License-Identifier: Apache-2.0
"""Films of walks with the real nodes, of README.md and docs/rough-ground.md: `python docs/figures/walks.py`.

Needs ROS 2, MuJoCo and OpenGL. A walk that falls short of its commands, as on a loaded computer, is repeated. The
simulation runs at half speed, the films play at full speed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hexapod_control.ros.transport.loopback import private_domain

IMAGES = Path(__file__).parent.parent / "images"
SIM = (sys.executable, "-m", "hexapod_control.cli.main", "sim", "--reality", "ideal")
DEMO = (*SIM, "--demo", "--no-web", "--speed", "0.5", "--record")
WALKS = {
    "walk.gif": (),
    "rough.png": ("--world", "blocks", "--block-height", "0.02", "--adaptive-touch-down"),
}
ATTEMPTS = 5


def main() -> None:
    """Records the walks."""
    with private_domain():
        for name, options in WALKS.items():
            walk = [*DEMO, str(IMAGES / name), *options]
            if not any(subprocess.run(walk, check=False).returncode == 0 for _ in range(ATTEMPTS)):
                sys.exit(f"{name}: no demonstration succeeded in {ATTEMPTS} attempts")


if __name__ == "__main__":
    main()
