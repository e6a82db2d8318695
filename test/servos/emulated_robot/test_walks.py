# SPDX-License-Identifier: Apache-2.0
"""A robot that walks on emulated servos, in simulated time: no false alarm comes from what the servos report."""

import numpy as np
import pytest
from support.kits.simulated_bench import TARGET_PERIOD_S, SimulatedBench
from support.suite.soak import some

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.sensing.foot_force_estimator import FootForceEstimator
from hexapod_control.core.sensing.joint_plausibility import JointPlausibility
from hexapod_control.core.sensing.mishap_watch import SupportWatch
from hexapod_control.core.sensing.sensor_inputs import Contacts
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.evaluation.robot_check.steady_walk import steady_walk
from hexapod_control.servos.emulated_robot.weight import RobotWorld

WALK_S = 6.0
SPEED_SHARE = 0.9  # of the top speed of each gait
ROBOTS = {"feetech_st": "phantomx", "dynamixel1": "phantomx", "dynamixel2": "phantomx", "lx16a": "big_hex"}
REPORTED = ("slow", "too slow")  # of a line, which is true
CASES = [(protocol, gait) for protocol, name in ROBOTS.items() for gait in gaits(load(name).robot)]


class Walking(SimulatedBench):
    """A driver of a robot that walks; `cycle` is the planned walk."""

    def __init__(self, time, protocol):
        self.walk = None
        found = load(ROBOTS[protocol]).robot
        super().__init__(time, protocol, found, np.array(standing_joints(found)))

    def new_world(self, scale):
        raw = [j.raw(q) for j, q in zip(self.settings.joints, self.row.ravel().tolist(), strict=True)]
        return RobotWorld(self.robot, self.settings.joints, scale, raw)

    def take_wave(self, begin, now):
        if self.walk is None:
            self.driver.take(self.row, np.zeros_like(self.row), now)
        else:
            tick = round((now - self.since) / TARGET_PERIOD_S) % len(self.walk.joints)
            self.driver.take(self.walk.joints[tick], self.walk.velocity[tick], now)

    def begin_to_walk(self, gait):
        top = Capabilities.of(self.robot).fastest(Twist(1.0, 0.0, 0.0), [gait]).vx
        self.walk, self.since = steady_walk(self.robot, gait, Twist(SPEED_SHARE * top, 0.0, 0.0)), self.time.now

    def snapshots(self, seconds):
        """A snapshot of each cycle."""
        end = self.time.now + seconds
        while self.time.now < end:
            self.driver.cycle()
            yield self.driver.snapshot


@pytest.mark.parametrize("case", some(CASES, ("feetech_st", "tripod"), ("lx16a", "tripod")))
def test_readings_of_a_walking_robot_are_plausible_and_never_those_of_a_lifted_one(case, simulated_time):
    protocol, gait = case
    bench = Walking(simulated_time, protocol)
    bench.arm()
    bench.during(0.5)
    bench.begin_to_walk(gait)
    stall = np.array([[joint.stall_torque for joint in leg.joints] for leg in bench.robot.legs])
    estimator, contacts, watch = FootForceEstimator(bench.robot), Contacts(bench.robot), SupportWatch()
    plausibility, last = JointPlausibility(bench.robot), simulated_time.now
    for snapshot in bench.snapshots(WALK_S):
        verdict = plausibility.check(snapshot.joints, snapshot.time, simulated_time.now)
        assert verdict.reason is None, verdict.reason
        if snapshot.loads is not None and snapshot.times is not None:
            torques = np.nan_to_num(snapshot.loads) * stall
            forces = estimator.update(snapshot.joints, snapshot.velocities, torques, snapshot.times)
            if forces is not None:
                contacts.take(forces)
                watch.step(snapshot.time - last, contacts.feet, on_feet=True)
                assert not watch.carried
        last = snapshot.time
    assert all(any(word in text for word in REPORTED) for text in bench.texts()), bench.texts()
    bench.close()
