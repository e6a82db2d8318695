# SPDX-License-Identifier: Apache-2.0
"""Measures how many steps of `Hexapod-v0` a core computes in a second, on flat ground."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.learning.environment import HexapodEnv

STEPS = 2000
AMPLITUDE = 0.1  # of the random actions


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns control steps per second of this thread's computing time, for an ideal and a typical robot."""
    found: dict[str, object] = {}
    for reality in ("ideal", "typical"):
        progress(f"learning: {reality}")
        env = HexapodEnv(str(robot_file.path), reality=reality)
        env.reset(seed=0)
        actions = np.random.default_rng(0).uniform(-AMPLITUDE, AMPLITUDE, (STEPS, *(env.action_space.shape or ())))
        begin = time.thread_time()
        for action in actions.astype(np.float32):
            _, _, fell, ended, _ = env.step(action)
            if fell or ended:
                env.reset()
        found[f"{reality}_steps_per_s"] = round(STEPS / (time.thread_time() - begin))
    return {"learning": found}
