# SPDX-License-Identifier: Apache-2.0
"""An emulated robot on its stand, whose servos differ from the data sheet, on a line in simulated time."""

import numpy as np
from support.kits.simulated_bench import SimulatedLine

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.reality import Reality
from hexapod_control.servos.calibration.identification import StandRecorder
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.emulated_robot.weight import RobotWorld
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import standard


class HeldRobot:
    """A robot with torque off, hanging from its stand; `errors` are those of its `Reality`."""

    def __init__(self, time, name="phantomx", protocol="feetech_st", **errors):
        self.time = time
        self.robot = load(name).robot
        self.settings = standard(self.robot, protocol, "/dev/hexapod")
        row = PROTOCOLS[protocol]
        self.errors = Reality(len(self.robot.legs), **errors)
        joints = self.settings.joints
        angles = np.ravel(np.array(lying_joints(self.robot))).tolist()
        start = [joint.raw(angle) for joint, angle in zip(joints, angles, strict=True)]
        self.world = RobotWorld(self.robot, joints, row.scale, start, self.errors)
        self.world.is_held = True
        self.device = emulated_device(protocol, self.world, self.settings.ids)
        self.line = SimulatedLine(self.device, self.settings.baud, time)
        self.bus = row.open(self.line, self.settings.ids)
        self.jogger = ServoJogger(self.bus, {}, sleep=time.sleep)
        self.progress = []

    def recorder(self):
        return StandRecorder(
            self.bus,
            self.jogger,
            self.robot,
            self.settings.joints,
            clock=self.time.monotonic,
            sleep=self.time.sleep,
            progress=self.progress.append,
        )

    @property
    def is_off(self):
        """Whether no servo has torque, once the line is silent."""
        self.time.sleep(0.1)
        return not self.world.torques.any()

    @property
    def joints(self):
        """The joints in row order."""
        return [joint for leg in self.robot.legs for joint in leg.joints]

    @classmethod
    def drawn(cls, time, seed, **given):
        """A robot with play of 0.3 to 2 degrees, latencies of 5 to 60 ms and stiffnesses of +-50 %."""
        rng = np.random.default_rng(seed)
        shape = (6, 3)
        return cls(
            time,
            backlash=np.radians(rng.uniform(0.3, 2.0, shape)),
            latency=rng.uniform(0.005, 0.06, shape),
            stiffness=rng.uniform(0.5, 1.5, shape),
            **given,
        )
