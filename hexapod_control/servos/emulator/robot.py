"""A whole robot's servos behind a pty, lying on its belly without torque."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hexapod_control.core import posture
from hexapod_control.core.robot import Robot
from hexapod_control.servos.emulator.faults import Emulation
from hexapod_control.servos.emulator.pty import Pty
from hexapod_control.servos.emulator.world import LagWorld
from hexapod_control.servos.protocols import PROTOCOLS
from hexapod_control.servos.settings import ServoSettings


def emulate(robot: Robot, settings: ServoSettings, link: Path, *, seed: int = 0) -> Emulation:
    """Servos as the settings have them, behind a link to a pty. Raises ValueError or BusError without a device."""
    protocol = PROTOCOLS[settings.protocol]
    home = [leg.foothold for leg in robot.legs]
    lying = np.ravel(np.array(posture.row_at(robot, home, posture.lying_offset(robot, home)))).tolist()
    places = [joint.raw(angle) for joint, angle in zip(settings.joints, lying, strict=True)]
    world = LagWorld(protocol.scale, len(settings.ids), positions=places)
    device = protocol.device(world, settings.ids)
    return Emulation(Pty(device, settings.baud, link=link, seed=seed), world, settings.ids)
