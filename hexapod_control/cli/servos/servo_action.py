"""Inputs shared by the actions of `hexapod servos`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from hexapod_control.bringup.process_supervisor import StopSignal
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.settings.servo_section import ServoSettings


@dataclass(frozen=True, slots=True)
class ServoAction:
    """The inputs of an action: options, open bus, its settings, robot file and stop signal."""

    args: argparse.Namespace
    bus: Bus
    settings: ServoSettings
    file: RobotFile
    stop: StopSignal

    @property
    def names(self) -> dict[int, str]:
        """Names of the joints by id."""
        return {joint.id: joint.short_name for joint in self.settings.joints}
