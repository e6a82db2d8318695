# SPDX-License-Identifier: Apache-2.0
"""A robot whose joint zeros, lengths and hips differ from its file, standing on a floor: what it would measure."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hexapod_control.core.calibration.chain_estimate import StandingPose
from hexapod_control.core.calibration.closed_chains import vertical
from hexapod_control.core.calibration.pose_choice import travel_time
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, solve_leg
from hexapod_control.core.kinematics.whole_body import rolling_displacement, rolling_shift, standing_joints
from hexapod_control.core.statics.leg_compliance import foot_jacobian
from hexapod_control.core.statics.static_stability import GRAVITY

ZERO = math.radians(4.0)  # [rad]
LENGTH = 0.003  # [m]
PART_S = 0.05  # of a move, along which the balls of the feet roll


def holding(robot, joints, loads):
    """Torques (n, 3) [N m] of servos that hold legs whose feet bear these even shares of the weight."""
    even = robot.mass * GRAVITY / len(robot.legs)
    rows = []
    for leg, (coxa, femur, tibia), load in zip(robot.legs, joints.tolist(), loads, strict=True):
        *_, of_femur, of_tibia = leg.moments
        lower = GRAVITY * of_tibia * math.cos(femur + tibia)
        own = np.array([0.0, GRAVITY * of_femur * math.cos(femur) + lower, lower])
        rows.append(own - foot_jacobian(leg, (coxa, femur, tibia)).T @ (0.0, 0.0, load * even))
    return np.array(rows)


class HiddenRobot:
    """One robot; `angle` [rad], `slip` [m] and `tilt` [rad] are deviations of noise."""

    def __init__(self, robot, seed, *, zero=ZERO, length=LENGTH, hip=0.0, angle=0.0, slip=0.0, tilt=0.0):
        self.rng = np.random.default_rng(seed)
        count = len(robot.legs)
        self.robot = robot
        self.zeros = self.rng.uniform(-zero, zero, (count, 3))
        self.lengths = self.rng.uniform(-length, length, (count, 3))
        self.hips = self.rng.uniform(-hip, hip, (count, 3))
        self.true = replace(robot, legs=tuple(self._leg(leg, row) for row, leg in enumerate(robot.legs)))
        self.floor = np.zeros(count)  # [m] height under each foot
        self.slope = (0.0, 0.0)  # [rad] roll and pitch of the floor against the horizontal
        self.places = np.array(robot.footholds)
        level = Placement(NEUTRAL, robot.walk.height)
        pairs = zip(robot.legs, standing_joints(robot), strict=True)
        self._rolled = np.array([rolling_shift(leg, at, level, robot.foot_radius) for leg, at in pairs])
        self._pose = NEUTRAL
        self._angle, self._slip, self._tilt = angle, slip, tilt

    def _leg(self, leg, row):
        coxa, femur, tibia = self.lengths[row]
        return replace(
            leg,
            hip=tuple(np.add(leg.hip, self.hips[row])),
            coxa=replace(leg.coxa, length=leg.coxa.length + coxa),
            femur=replace(leg.femur, length=leg.femur.length + femur),
            tibia=replace(leg.tibia, length=leg.tibia.length + tibia),
        )

    def joints(self, pose):
        """The angles (n, 3) [rad] that the servos report in a body pose."""
        self._roll_to(pose)
        true = np.array(self._standing(pose))
        return true - self.zeros + self._angle * self.rng.standard_normal(self.zeros.shape)

    def _standing(self, pose):
        """The true angles with the balls where they are."""
        placement = Placement(pose, self.robot.walk.height)
        rows = zip(self.true.legs, self.places + self._rolled, self.floor + self.robot.foot_radius, strict=True)
        return [solve_leg(leg, placement.to_base(*at, z), BENT_LEG)[0] for leg, at, z in rows]

    def _roll_to(self, pose):
        """Moves the body from its last pose to this one, while the balls roll over the floor without slip."""
        before = self._pose
        parts = math.ceil(travel_time(before, pose) / PART_S)
        joints = self._standing(before)
        for part in range(parts):
            start, end = (before.towards(pose, (part + k) / parts) for k in (0, 1))
            pitched, rolled = end.pitch - start.pitch, (end.roll - start.roll) * math.cos(end.pitch)
            cos, sin = math.cos(end.yaw), math.sin(end.yaw)
            turn = cos * rolled - sin * pitched, sin * rolled + cos * pitched
            moved = self._standing(end)
            placement = Placement(end, self.robot.walk.height)
            for row, leg in enumerate(self.true.legs):
                step = rolling_displacement(leg, joints[row], moved[row], placement, turn, self.robot.foot_radius)
                self._rolled[row] += step
            joints = moved
        self._pose = pose

    def tilt(self, pose):
        """Roll and pitch [rad] by its IMU."""
        noise = self._tilt * self.rng.standard_normal(2)
        x, y, z = np.array(Placement(pose, 0.0).rotation).T @ vertical(self.slope)
        return math.atan2(y, z) + noise[0], math.asin(-x) + noise[1]

    def slip(self):
        """Moves each foot by the noise of a step."""
        self.places = self.places + self._slip * self.rng.standard_normal(self.places.shape)

    def measured(self, poses):
        """What is measured in body poses, one after the other."""
        found = []
        for pose in poses:
            self.slip()
            found.append(StandingPose(self.joints(pose), self.tilt(pose)))
        return found

    def degrees_off(self, zeros):
        """Errors (n, 3) [deg] of estimated zeros."""
        return np.degrees(zeros - self.zeros)
