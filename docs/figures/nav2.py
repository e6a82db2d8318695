# SPDX-License-Identifier: Apache-2.0
"""The film of docs/nav2.md: `python docs/figures/nav2.py` (needs ROS 2 with Nav2, MuJoCo and OpenGL)."""

from __future__ import annotations

import sys
from pathlib import Path

from hexapod_control.cli.main import main
from hexapod_control.ros.transport.loopback import private_domain

IMAGE = Path(__file__).parent.parent / "images" / "nav2.gif"

if __name__ == "__main__":
    with private_domain():
        sys.exit(main(["nav2-check", "--goals", "4", "--no-recoveries", "--record", str(IMAGE)]))
