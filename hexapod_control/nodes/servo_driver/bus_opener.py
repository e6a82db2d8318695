"""Opens the bus of a robot's servos with its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.driver.target_follower import SPEED_MARGIN
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.loopback import LoopbackBus
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings

LOOPBACK_SPEED_FACTOR = 2.0  # of the fastest command: loopback servos follow without lag


def bus_opener(
    settings: ServoSettings, robot: Robot, start: Array, margin: float, force_model: bool, *, touch: bool = False
) -> Callable[[], Bus]:
    """A function that opens the bus of these settings. Loopback servos start at `start` (n, 3) [rad].

    Replies may be late by `margin` [s], where servos reply. `force_model` accepts any model. `touch`: the
    touch inputs of the board are read.
    """
    if settings.protocol == LOOPBACK:
        angles = np.ravel(start).tolist()
        positions = {joint.id: joint.raw(q) for joint, q in zip(settings.joints, angles, strict=True)}
        fastest = SPEED_MARGIN * max(joint.no_load_speed for leg in robot.legs for joint in leg.joints)
        return lambda: LoopbackBus(settings.ids, positions=positions, speed=LOOPBACK_SPEED_FACTOR * fastest)
    protocol = PROTOCOLS[settings.protocol]
    options: dict[str, Any] = dict(settings.options)  # keyword arguments of `open`, different ones for each protocol
    if "wait" in protocol.options:
        options["wait"] = ReplyTiming(margin=margin)
    if "force_model" in protocol.options:
        options["force_model"] = force_model
    if "touch" in protocol.options:
        options["touch"] = touch
    return lambda: protocol.open(protocol.connect(settings.port, settings.baud), settings.ids, **options)
