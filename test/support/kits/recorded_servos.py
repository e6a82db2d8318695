# SPDX-License-Identifier: Apache-2.0
"""Emulated servos that record their goals, and what all benches with a driver on such servos have in common."""

from __future__ import annotations

import time

import numpy as np
import pytest
from support.phantomx import LIMITS, lying

from hexapod_control.servos.emulator.servo_world import LagWorld

FAULT = 0.2  # [s] from an unplugged cable, or from the last targets, to the fault
HOLD = 0.3  # [s] from the last answer of all servos to the report that the robot holds
LOST = 0.5  # [s] from the last answer to a lost servo
SLACK = 1.0  # [s] allowed for a loaded machine
FEMUR = "left_middle_femur_joint (id 5)"
SMART = ("feetech_st", "feetech_sc", "dynamixel1", "dynamixel2", "lx16a")  # servos that measure their position
kinds = pytest.mark.parametrize("protocol", SMART)
SPEED = LIMITS[..., 2].ravel()  # [rad/s]
HIGH = lying() - 0.3  # [rad] a pose away from the joint limits


def reported(bench, *texts):
    """Whether each of these texts occurs in an event or diagnosis of the driver."""
    reports = bench.texts()
    return all(any(text in report for report in reports) for text in texts)


class Recorded(LagWorld):
    """Servos that record their goals: (time [s], index, goal [rad], position [rad], torque)."""

    def __init__(self, joints, scale, start, clock=time.monotonic):
        super().__init__(scale, len(joints), positions=[j.raw(q) for j, q in zip(joints, start.ravel(), strict=True)])
        self.joints, self.received_goals, self._clock = joints, [], clock
        self.switched = []  # (index, goal [rad], position [rad]) when torque came on

    def goal(self, index, raw, duration):
        if self.plugs[index]:
            joint = self.joints[index]
            where = joint.angle(self.positions[index])
            self.received_goals.append((self._clock(), index, joint.angle(raw), where, bool(self.torques[index])))
        super().goal(index, raw, duration)

    def torque(self, index, on):
        before = self.torques[index]
        super().torque(index, on)
        if self.torques[index] and not before:
            joint = self.joints[index]
            self.switched.append((index, joint.angle(self.goals[index]), joint.angle(self.positions[index])))

    def assert_no_leap(self, period, jitter=0.004):
        """Checks that no goal changes faster than its joint; `period` of the driver and `jitter` of threads [s]."""
        last = {}
        for now, index, goal, _, torque in list(self.received_goals):
            resolution = 2.0 / self.joints[index].units_per_rad
            assert np.isfinite(goal)
            if torque and index in last:
                then, before = last[index]
                gap = max(now - then, period) + jitter
                assert abs(goal - before) <= 1.05 * SPEED[index] * gap + resolution, (index, goal - before, gap)
            last[index] = (now, goal)
        assert last

    def assert_torque_at_position(self):
        """Checks that torque came on with the goal at the position."""
        for index, goal, where in self.switched:
            assert abs(goal - where) <= 2.0 / self.joints[index].units_per_rad, (index, goal, where)

    def angles(self):
        return np.array([j.angle(p) for j, p in zip(self.joints, self.positions, strict=True)]).reshape(-1, 3)


class DriverBench:
    """A driver on emulated servos; subclasses have `driver`, `settings`, `world`, `row`, `publishing` and `until`."""

    def __init__(self):
        self.events = []

    def collect(self):
        while self.driver.events:
            self.events.append(self.driver.events.popleft())

    def arm(self):
        refusal = self.driver.arm()
        assert refusal is None, refusal
        self.publishing.set()

    def texts(self):
        self.collect()
        return [t.text for t in (*self.events, *self.driver.snapshot.diagnoses)]

    def troubles(self, kind):
        return [t for t in self.driver.snapshot.diagnoses if t.kind.startswith(kind)]

    def take_wave(self, begin, now):
        """Targets at a steady time [s]: a slow wave about the joint angles `row`."""
        wave, speed = 0.1 * np.sin(6.0 * (now - begin)), 0.6 * np.cos(6.0 * (now - begin))
        self.driver.take(self.row + wave, np.full_like(self.row, speed), now)

    def assert_no_leap(self):
        """Checks that no goal changes faster than its joint can move, and that torque comes on at the position."""
        self.world.assert_no_leap(1.0 / self.settings.rate)
        if self.driver.snapshot.measured:
            self.world.assert_torque_at_position()
