# SPDX-License-Identifier: Apache-2.0
"""A walk in physics over the bytes of a servo bus, in lock step: its margins, odometry and foot contacts."""

import math
from dataclasses import replace

import bus_replay
import numpy as np
import pytest
from support.kits.plain_node import PlainNode

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, planar_pose
from hexapod_control.nodes.servo_driver.driver_output import DriverOutput
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import FootLayout
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

FILE = load("phantomx")


def lockstep(protocol, **changes):
    """A robot that sits, with armed servos on a bus at 1 Mbaud."""
    settings = replace(servo_settings(FILE, protocol, "the wire"), baud=1_000_000, **changes)
    simulation = Simulation(FILE.robot, urdf(FILE), WorldSettings(between_targets="linear"))
    simulation.reset(sitting_pose(FILE.robot))
    return bus_replay.BusLockstep(settings, simulation, Planner(FILE.robot))


@pytest.mark.physics
@pytest.mark.parametrize("case", [bus_replay.CASES[0], bus_replay.CASES[3]], ids=lambda case: case.name)
def test_the_walk_over_feetech_servos_at_1_mbaud_keeps_twice_the_margins(case):
    short = replace(case, course=replace(case.course, cycles=2))  # each cycle has the same figures within 1 %
    found = bus_replay.measure(FILE, "feetech_st", short)
    assert not case.limits.broken_by(found), found


@pytest.mark.parametrize(
    ("protocol", "rate", "timed"),
    [("feetech_st", 50.0, True), ("dynamixel1", 50.0, False), ("dynamixel1", 30.0, True), ("dynamixel2", 50.0, False)],
)
def test_positions_have_times_where_all_servos_are_read_in_a_cycle_and_move_evenly(protocol, rate, timed):
    assert (lockstep(protocol, rate=rate).driver.snapshot.times is not None) == timed


@pytest.mark.physics
@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel1"])
def test_odometry_holds_however_many_servos_are_read_in_a_cycle_and_their_loads_show_which_feet_touch(protocol):
    """Eighteen AX-12A servos are read in turn: each joint angle has its own age, and contacts are not estimated."""
    run, node, agree, layout = lockstep(protocol), PlainNode(), [], FootLayout(FILE.robot)
    output = DriverOutput(node, FILE.robot)
    run.stand()
    run.reach(Twist(0.1, 0.0, 0.0))
    odometry, begin = Odometry(FILE.robot), planar_pose(run.simulation)
    planted = (True,) * 6
    for _ in range(150):
        odometry.update(run.driver.snapshot.joints, [float(down) for down in planted], CONTROL_PERIOD_S)
        planted = run.tick().planted
        published = len(node.sent("foot_states"))
        output.state(run.driver.snapshot, messages.time(0))
        for message in node.sent("foot_states")[published:]:
            agree.append(np.mean((layout.forces(message) > 0.0) == (run.simulation.foot_forces > 0.02)))
    way = begin.inverse() @ planar_pose(run.simulation)
    assert way.x > 0.25
    assert math.dist((odometry.pose.x, odometry.pose.y), (way.x, way.y)) < 0.02 * way.x
    status = output.foot_contact_status(run.driver.snapshot)
    if protocol == "dynamixel1":
        assert not agree and status.startswith("unknown: needs servos that report load in every cycle")
    else:
        assert status.startswith("known") and len(agree) > 50
        assert np.mean(agree) >= 0.85  # reported loads are one period old
