# SPDX-License-Identifier: Apache-2.0
"""Parameters of servo_driver."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.core.quantity import choice, number
from hexapod_control.ros.parameters import RobotSettings
from hexapod_control.servos.settings.servo_section import PACE


@dataclass(frozen=True, slots=True)
class DriverSettings(RobotSettings):
    """Parameters of servo_driver."""

    control_rate: float = number(50.0, "Hz", 10.0, 500.0, "messages of joint_states, at most")
    arm_on_start: bool = choice(True, "switch the torque on at the start, if the servos report their positions")
    protocol: str = choice("", "servo bus; empty: the robot file's, loopback if it has no servos section")
    port: str = choice("", "serial port; empty: the robot file's")
    i2c_bus: str = choice("", "I2C bus of the sensors; empty: that of the robot file's section io")
    wait_for_port: bool = choice(False, "start without the port, and switch the torque on when it appears")
    reply_margin: float = number(0.008, "s", 0.001, 0.2, "delay after which a reply counts as lost")
    force_model: bool = choice(False, "use servos whose model is not one of the protocol's; reported as a warning")
    assume_lying: bool = choice(False, "also arm servos that report no positions: the robot lies on its belly")
    calibration_pace: float = PACE.field()
    publish_foot_states: bool = choice(
        True, "detect loaded feet by the servo loads, if the bus reports them; false: by contact sensors"
    )
