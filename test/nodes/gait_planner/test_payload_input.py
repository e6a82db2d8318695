# SPDX-License-Identifier: Apache-2.0
"""A robot that stands with a load weighs it, and walks within the margin and the limits of the loaded robot."""

import numpy as np
import pytest
from support.drives import DT, drive, standing_planner

from hexapod_control.config.motion_file import load_motion
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.payload import Payload
from hexapod_control.nodes.gait_planner.payload_input import PayloadInput
from hexapod_control.nodes.joint_state_input import MeasuredSample
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.servos.emulated_robot.weight import RobotOnGround

AT_THE_REAR = Payload(1.0, (-0.05, 0.0))


class Carrier:
    """A standing planner whose servos report the loads of a robot with a payload."""

    def __init__(self, bench):
        self.node = bench.add(GuardedNode("carrier"))
        self.planner = standing_planner("phantomx")
        self.input = PayloadInput(self.node, self.planner)
        self.bench = bench
        self.unloaded = self.planner.robot
        self.seconds = 0.0

    def stands(self, payload, watched=True):
        """Reports the loads with a payload for 6 s; returns the largest motion of a joint [rad]."""
        robot = self.unloaded
        joints = np.array(standing_joints(robot))
        torques = (
            RobotOnGround(payload.on(robot) if payload else robot)
            .standing(standing_joints(robot), np.ones(joints.shape, dtype=bool))
            .torques
        )
        stiffness = np.array([[joint.stiffness for joint in leg.joints] for leg in robot.legs])
        sample = MeasuredSample(joints - torques / stiffness, messages.time(0), False, torques)
        before = self.planner.step(DT).joint_angles
        moved = 0.0
        for _ in range(round(6.0 / DT)):
            self.seconds += DT
            self.input.take(sample, self.seconds)
            if watched:
                self.input.watch()
            moved = max(moved, float(np.abs(self.planner.step(DT).joint_angles - before).max()))
        return moved

    def circles(self, payload):
        """Plays the motion `weigh`; the servos have dry friction, and report loads in steps of a thousandth."""
        robot = self.unloaded
        ground = RobotOnGround(payload.on(robot))
        stall, stiffness, friction = (
            np.array([[value(joint) for joint in leg.joints] for leg in robot.legs])
            for value in (lambda j: j.stall_torque, lambda j: j.stiffness, lambda j: j.traits.friction * j.stall_torque)
        )
        player = MotionPlayer(self.planner)
        player.execute(MotionRehearsal(robot, load_motion("weigh", robot)).finish())
        torques = direction = np.zeros(stall.shape)
        before = self.planner.step(DT).joint_angles
        while player.name:
            joints = player.step(DT).joint_angles
            sags = (0.0, torques / stiffness)
            unloaded, loaded = ([(c, f, t) for c, f, t in (joints - sag).tolist()] for sag in sags)
            torques = ground.standing(unloaded, np.ones(stall.shape, dtype=bool), loaded).torques
            direction = np.where(np.abs(joints - before) > 1e-5, np.sign(joints - before), direction)
            before = joints
            reported = np.rint(1000.0 * (torques + friction * direction) / stall) * stall / 1000.0
            self.seconds += DT
            self.input.take(
                MeasuredSample(joints - torques / stiffness, messages.time(0), False, reported), self.seconds
            )
            self.input.watch()

    def computes(self, mass):
        """Waits until the planner has the mass [kg] of the loaded robot."""

        def done():
            self.input.watch()
            self.planner.step(DT)
            return self.planner.robot.mass == pytest.approx(mass, rel=0.02)

        self.bench.until(done, 25.0, "tables with the payload")


def test_a_load_changes_margin_and_limits_at_rest_without_a_motion_and_goes_when_it_is_taken_off(bench):
    carrier = Carrier(bench)
    margin = carrier.planner.step(DT).margin
    center = carrier.planner.step(DT).center
    assert carrier.input.status()["payload"].startswith("unknown")
    assert carrier.stands(AT_THE_REAR) < 1e-9
    carrier.computes(carrier.unloaded.mass + 1.0)
    for _ in range(3):
        plan = carrier.planner.step(DT)
    assert plan.margin < margin - 0.005 and plan.center[0] < center[0] - 0.01
    assert carrier.planner.state is RobotState.STANDING
    assert "1.00 kg" in str(carrier.input.status()["payload"])
    assert carrier.node.sent_reports["payload"].level is ReportLevel.OK
    assert carrier.stands(None) < 1e-9
    carrier.computes(carrier.unloaded.mass)


def test_over_the_motion_weigh_a_small_load_is_found_that_friction_hides_at_rest(bench):
    carrier = Carrier(bench)
    small = Payload(0.4, (0.03, 0.0))
    carrier.stands(small)
    assert "friction may be the cause" in str(carrier.input.status()["payload"])
    carrier.circles(small)
    carrier.stands(small)  # the worse estimate at rest does not replace it
    carrier.computes(carrier.unloaded.mass + 0.4)
    assert carrier.planner.robot.body.center_of_mass[0] > carrier.unloaded.body.center_of_mass[0]


def test_a_walking_robot_keeps_its_limits_until_it_stands_again(bench):
    carrier = Carrier(bench)
    carrier.stands(AT_THE_REAR, watched=False)
    list(drive(carrier.planner, Twist(0.05, 0.0, 0.0), 1.0))
    before = carrier.planner.view.maxima()
    for _ in range(25):
        carrier.input.watch()
        assert carrier.planner.step(DT).twist.vx > 0.0
        assert carrier.planner.view.maxima() == before
    assert carrier.planner.robot is carrier.unloaded


def test_a_load_with_which_no_gait_is_stable_is_named_and_the_robot_keeps_its_tables(bench):
    carrier = Carrier(bench)
    carrier.stands(Payload(3.0, (-0.25, 0.0)))

    def reported():
        carrier.input.watch()
        return "payload" in carrier.node.sent_reports

    bench.until(reported, 25.0, "a report")
    report = carrier.node.sent_reports["payload"]
    assert report.level is ReportLevel.WARNING
    assert "with which it cannot walk safely" in report.text and "take it off" in report.text
    assert carrier.planner.robot is carrier.unloaded
