# SPDX-License-Identifier: Apache-2.0
"""Robots that learn to walk: importing this package registers the Gymnasium environment `Hexapod-v0`."""

from hexapod_control.config.missing_modules import missing_module

try:
    import gymnasium
    import mujoco as mujoco  # so that both are reported in one sentence
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(missing_module(error) or str(error), name=error.name) from None

gymnasium.register("Hexapod-v0", entry_point="hexapod_control.learning.environment:HexapodEnv")
