# SPDX-License-Identifier: Apache-2.0
"""Raises the robot onto its feet in small steps, and lowers it again if voltage or loads are out of range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.config.sentence import Sentence, refuse
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.posture import stand_up
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import Bus, ServoQuantity, ServoReading
from hexapod_control.servos.calibration.dialog import name
from hexapod_control.servos.calibration.move_check import move_failure
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.commissioning.stages import StageError
from hexapod_control.servos.settings.joint_calibration import JointCalibration

STEPS = 24  # from lying to standing
MIN_SHARE = 0.85  # of the voltage without load
MAX_LOAD = 0.9  # of the full torque of a servo
MAX_TEMPERATURE = 65.0  # [degC]
MAX_SAG = math.radians(10.0)  # [rad] of a joint under the weight of the robot
TRIES = 3  # of a reading
WATCHED = ServoQuantity.VOLTAGE | ServoQuantity.LOAD | ServoQuantity.TEMPERATURE


@dataclass(slots=True)
class LoadWatch:
    """Extreme voltages and loads of a weight test."""

    joints: Sequence[JointCalibration]
    unloaded: float  # [V]; 0 if unknown: the first reading is used
    lowest: float = 0.0  # [V]; 0 if no voltage is known
    highest: float = 0.0  # load, as a share of the full torque
    worst: JointCalibration | None = None  # joint of the highest load

    def refusal(self, readings: Mapping[int, ServoReading], supply: float | None) -> Refusal | None:
        """Evaluates readings by servo id, and the supply [V]. Returns why the test must end."""
        silent = [joint for joint in self.joints if joint.id not in readings]
        volts = [r.voltage for r in readings.values() if r.voltage is not None] + ([supply] if supply else [])
        for joint in self.joints:
            load = readings[joint.id].load if joint.id in readings else None
            if load is not None and abs(load) > self.highest:
                self.highest = abs(load)
                self.worst = joint
        hot = [j for j in self.joints if j.id in readings and (readings[j.id].temperature or 0) > MAX_TEMPERATURE]
        if volts:
            self.unloaded = self.unloaded or min(volts)
            self.lowest = min(self.lowest or min(volts), *volts)
        if silent and readings:
            return refuse("servo_silent_under_load", joint=name(silent[0].short_name), id=silent[0].id)
        if self.lowest and self.lowest < MIN_SHARE * self.unloaded:
            return refuse("supply_falls", unloaded=self.unloaded, lowest=self.lowest)
        if self.worst is not None and self.highest > MAX_LOAD:
            return refuse("too_heavy", joint=name(self.worst.short_name), percent=100 * self.highest)
        if not hot:
            return None
        return refuse("servo_hot", joint=name(hot[0].short_name), limit=MAX_TEMPERATURE)

    @property
    def result(self) -> Sentence:
        """The result for the report, in one line."""
        result = Sentence("stood")
        if self.lowest:
            result = Sentence("stood_with_voltage", stood=result, volts=self.lowest)
        if self.worst is not None:
            result = Sentence(
                "stood_with_load", stood=result, percent=100 * self.highest, joint=name(self.worst.short_name)
            )
        return result


def rise(
    bus: Bus, jogger: ServoJogger, robot: Robot, joints: Sequence[JointCalibration], watch: LoadWatch
) -> LoadWatch:
    """Raises the body from the ground to its height, and lowers it again. Torque is off at the end.

    Raises StageError with the refusal of `watch`, once the robot lies again.
    """
    low = _lying_offset(robot)
    poses = [_goals(robot, joints, low * (1.0 - step / STEPS)) for step in range(STEPS + 1)]
    refused: Refusal | None = None
    reached = 0
    try:
        jogger.go(poses[0])
        for pose in poses:
            jogger.go(pose)
            reached += 1
            if refused := watch.refusal(_readings(bus, joints), bus.supply()[0]):
                break
        if refused is None:
            jogger.settle()
            refused = _not_standing(bus, joints, poses[0], poses[-1])
        for pose in reversed(poses[: max(reached - 1, 0)]):
            jogger.go(pose)
        jogger.settle()
    finally:
        jogger.relax()
    if refused:
        raise StageError(Sentence.of(refused))
    return watch


def _not_standing(
    bus: Bus, joints: Sequence[JointCalibration], begin: Mapping[int, float], end: Mapping[int, float]
) -> Refusal | None:
    """Why the robot has not come from one pose [raw] to another; None if its servos report nothing."""
    failures = (move_failure(bus, j, j.angle(end[j.id]), j.angle(begin[j.id]), MAX_SAG) for j in joints)
    return next(filter(None, failures), None)


def _readings(bus: Bus, joints: Sequence[JointCalibration]) -> dict[int, ServoReading]:
    """Readings by servo id; empty if the servos report nothing."""
    if not bus.can_read & WATCHED:
        return {}
    found: dict[int, ServoReading] = {}
    for _ in range(TRIES):
        found |= bus.read([joint.id for joint in joints if joint.id not in found], bus.can_read & WATCHED)
        if len(found) == len(joints):
            break
    return found


def _goals(robot: Robot, joints: Sequence[JointCalibration], offset: float) -> dict[int, float]:
    """Raw goals by servo id of the pose with the body `offset` [m] above its height."""
    angles = np.ravel(np.array(joints_at_offset(robot, robot.footholds, offset))).tolist()
    return {j.id: min(max(j.raw(angle), float(j.low)), float(j.high)) for j, angle in zip(joints, angles, strict=True)}


def _lying_offset(robot: Robot) -> float:
    return stand_up.lying_offset(robot, robot.footholds)


def lying(robot: Robot, joints: Sequence[JointCalibration]) -> dict[int, float]:
    """Raw goals by servo id of the lying pose."""
    return _goals(robot, joints, _lying_offset(robot))


def standing(robot: Robot, joints: Sequence[JointCalibration]) -> dict[int, float]:
    """Raw goals by servo id of the standing pose."""
    return _goals(robot, joints, 0.0)
