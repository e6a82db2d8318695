"""Parameters of servo_driver."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.ros.parameters import RobotSettings, choice, number


@dataclass(frozen=True, slots=True)
class DriverSettings(RobotSettings):
    """Parameters of servo_driver."""

    control_rate: float = number(50.0, "Hz", 10.0, 500.0, "rows of joint_states, at most")
    arm_on_start: bool = choice(True, "hold the joints from the start, if the servos report their positions")
    protocol: str = choice("", "servo bus; empty: the robot file's, loopback if it has no servos section")
    port: str = choice("", "serial port; empty: the robot file's")
    wait_for_port: bool = choice(False, "start without the port, and hold the joints when it comes")
    reply_margin: float = number(0.008, "s", 0.001, 0.2, "a reply may be so late before it counts as lost")
    assume_lying: bool = choice(False, "also hold servos that report no positions: the robot lies on its belly")
    calibration_pace: float = number(1.0, "", 0.1, 50.0, "moves of the guided calibration, times as fast as usual")
    publish_foot_states: bool = choice(
        True, "detect loaded feet by the servo loads, if the bus reports them; false: contact sensors do"
    )
