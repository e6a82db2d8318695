# SPDX-License-Identifier: Apache-2.0
"""An emulated robot that stands on flat ground, in simulated time."""

from dataclasses import replace

import numpy as np

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.servos.emulated_robot.weight import RobotWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import standard

TICK_S = 0.02


class StandingRobot:
    """The world of an emulated robot with torque; all its servos have direction -1."""

    def __init__(self, name, joints=standing_joints):
        self.robot = load(name).robot
        settings = standard(self.robot, "feetech_st", "/dev/hexapod")
        self.joints = [replace(joint, direction=-1) for joint in settings.joints]
        self.now = 0.0
        self.world = RobotWorld(self.robot, self.joints, PROTOCOLS["feetech_st"].scale, self.raw(joints(self.robot)))
        for index in range(self.world.count):
            self.world.torque(index, True)
        self.wait()

    def raw(self, joints):
        return [joint.raw(angle) for joint, angle in zip(self.joints, np.ravel(joints).tolist(), strict=True)]

    def wait(self, seconds=0.5):
        for _ in range(round(seconds / TICK_S)):
            self.now += TICK_S
            self.world.step(self.now)

    def move(self, joints):
        for index, raw in enumerate(self.raw(joints)):
            self.world.goal(index, raw, 0.0)
        self.wait()

    @property
    def torques(self):
        """What the servos report as torques (n, 3) [N m]."""
        stall = [joint.stall_torque for leg in self.robot.legs for joint in leg.joints]
        loads = [-self.world.load(index) for index in range(self.world.count)]
        return (np.array(loads) * stall).reshape(-1, 3)
