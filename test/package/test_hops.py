# SPDX-License-Identifier: Apache-2.0
"""How many files and calls a reader passes to follow a velocity through one tick, measured at run time."""

import sys
from pathlib import Path

from support.drives import DT, drive, standing_planner

import hexapod_control
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.operator_commands import OperatorCommands

PACKAGE = f"{Path(hexapod_control.__file__).parent}/"
MAX_FILES, MAX_DEPTH = 30, 10


class Trace:
    """The files of the package that a call enters, and how deep calls of the package are nested."""

    def __init__(self, call):
        self.files, self.depth, self._now = set(), 0, 0
        sys.setprofile(self._note)
        try:
            call()
        finally:
            sys.setprofile(None)

    def _note(self, frame, event, argument):
        file = frame.f_code.co_filename
        if event in ("call", "return") and file.startswith(PACKAGE):
            self._now += 1 if event == "call" else -1
            self.depth = max(self.depth, self._now)
            self.files.add(file.removeprefix(PACKAGE))


def test_a_velocity_passes_at_most_thirty_files_and_ten_nested_calls_in_the_tick_that_walks_it():
    planner = standing_planner("phantomx")
    list(drive(planner, Twist(0.1, 0.0, 0.1), 2.0))
    player = MotionPlayer(planner)
    commands = OperatorCommands(player)
    command, tick = Trace(lambda: commands.velocity(Twist(0.1, 0.0, 0.05))), Trace(lambda: player.step(DT))
    assert planner.view.walk.speed.twist.wz < 0.1  # the tick has followed the new velocity
    assert len(tick.files) <= MAX_FILES and tick.depth <= MAX_DEPTH, f"depth {tick.depth}: {sorted(tick.files)}"
    assert len(command.files) <= MAX_FILES and command.depth <= MAX_DEPTH
