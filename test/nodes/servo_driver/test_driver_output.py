# SPDX-License-Identifier: Apache-2.0
"""The topics of servo_driver for snapshots of any bus: unknown values are not published, or NaN."""

import math

import numpy as np
import pytest
from sensor_msgs.msg import BatteryState, JointState, MultiDOFJointState
from std_msgs.msg import Bool, Float64
from support.kits.plain_node import PlainNode
from support.phantomx import robot, standing_joints

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.nodes.servo_driver import driver_output
from hexapod_control.nodes.servo_driver.driver_output import DriverOutput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import FootLayout
from hexapod_control.servos.driver.telemetry import Snapshot, TorqueState

STAMP = messages.time(7_000_000_000)
TIMES = np.full((6, 3), 7.0)  # [s]
FORCES = np.arange(6.0)  # [N]
STALLS = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot().legs])


@pytest.fixture
def output(bench):
    """Makes the output of a driver."""

    def make(**options):
        return DriverOutput(bench.add(GuardedNode("servo_driver")), robot(), **options)

    return make


def snapshot(**fields):
    return Snapshot(**{"torque": TorqueState.ON, "time": 7.0, "joints": standing_joints(), **fields})


def test_joints_are_published_with_torques_where_the_bus_reads_loads_and_not_while_the_pose_is_unknown(bench, output):
    driver, states = output(), bench.listen(JointState, "joint_states")
    feet = bench.listen(MultiDOFJointState, "foot_states")
    bench.until(lambda: bench.probe.count_publishers("joint_states") and bench.probe.count_publishers("foot_states"))
    loads = np.full((6, 3), 0.5)
    loads[0, 0] = math.nan
    for shown in (snapshot(joints=None), snapshot(), snapshot(loads=loads, times=TIMES)):
        count = len(states) + (shown.joints is not None)
        driver.state(shown, STAMP)
        bench.until(lambda count=count: len(states) == count)
    stalls = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot().legs])
    assert list(states[0].position) == pytest.approx(standing_joints().ravel()) and not len(states[0].effort)
    assert list(states[1].effort) == pytest.approx([0.0, *(0.5 * stalls).ravel()[1:]])
    assert states[1].header.stamp == STAMP
    assert not feet  # the estimator is still adapting


@pytest.mark.parametrize(
    ("options", "known"),
    [({"feet": False}, {"times": TIMES}), ({}, {}), ({"feet": False}, {})],
    ids=["contact sensors", "no times", "neither"],
)
def test_without_foot_states_or_without_times_of_the_loads_only_the_joints_are_published(bench, output, options, known):
    driver, states = output(**options), bench.listen(JointState, "joint_states")
    bench.until(lambda: bench.probe.count_publishers("joint_states"))
    driver.state(snapshot(loads=np.zeros((6, 3)), **known), STAMP)
    bench.until(lambda: states)
    assert bench.probe.count_publishers("foot_states") == (0 if options else 1)


def test_the_source_of_foot_contacts_is_named(output):
    loads = np.zeros((6, 3))
    assert output(feet=False).foot_contact_status(snapshot(loads=loads, times=TIMES)) == "from contact sensors"
    estimate = output()
    for lacking in ({}, {"loads": loads}, {"times": TIMES}):
        assert estimate.foot_contact_status(snapshot(**lacking)).startswith("unknown: needs servos that report load")
    assert estimate.foot_contact_status(snapshot(loads=loads, times=TIMES)) == "learning: known after some steps"


def test_battery_state_has_known_values_negative_discharge_current_and_nan_otherwise(bench, output):
    driver, batteries = output(), bench.listen(BatteryState, "battery_state")
    bench.until(lambda: bench.probe.count_publishers("battery_state"))
    temperatures = np.full((6, 3), 30.0)
    for known in ({}, {"voltage": 11.5}, {"voltage": 11.0, "current": 2.5, "temperatures": temperatures}):
        count = len(batteries) + bool(known)
        driver.battery(snapshot(**known), STAMP)
        bench.until(lambda count=count: len(batteries) == count)
    assert [message.voltage for message in batteries] == [11.5, 11.0]
    assert math.isnan(batteries[0].current) and batteries[1].current == -2.5
    for message in batteries:
        assert message.present and message.header.stamp == STAMP
        unknown = (message.charge, message.capacity, message.design_capacity, message.percentage, message.temperature)
        assert all(map(math.isnan, unknown))


def test_torque_and_speed_share_are_published_when_they_change(bench, output):
    driver = output()
    holds, shares = bench.listen(Bool, "armed", LATCHED), bench.listen(Float64, "speed_share", LATCHED)
    for power, share, published in (
        ("ON", 1.0, 2),
        ("ON", 1.0, 2),
        ("ARMING", 1.0, 3),
        ("OFF", 0.5, 4),
        ("ON", 0.5, 5),
    ):
        driver.latched(snapshot(torque=TorqueState[power], speed_share=share))
        bench.until(lambda published=published: len(holds) + len(shares) == published)
    assert [message.data for message in holds] == [True, False, True]
    assert [message.data for message in shares] == [1.0, 0.5]


# --- foot_states ----------------------------------------------------------------------------------------------


class Estimate:
    """Stands in for the estimator of foot forces."""

    learning, valid, error = False, True, 0.034

    def __init__(self):
        self.forces, self.taken = FORCES, []

    def update(self, *sample):
        self.taken.append(sample)
        return self.forces


class Switched:
    """Stands in for switches under the feet."""

    error = ""

    def __init__(self):
        self.known, self.taken = FORCES, []

    def forces(self, now, board):
        self.taken.append((now, board))
        return self.known


@pytest.fixture
def estimate(monkeypatch):
    made = Estimate()
    monkeypatch.setattr(driver_output, "FootForceEstimator", lambda robot: made)
    return made


def foot_states(node):
    """Positions, velocities and forces that were published last."""
    message = node.sent("foot_states")[-1]
    assert message.header.stamp == STAMP
    return FootLayout(robot()).feet(message)


@pytest.mark.parametrize("speeds", [None, np.full((6, 3), 0.25)], ids=["speeds unknown", "speeds"])
def test_foot_states_have_the_forces_estimated_from_loads_speeds_and_times(estimate, speeds):
    node = PlainNode()
    driver, loads = DriverOutput(node, robot()), np.full((6, 3), -0.5)
    loads[2, 1] = math.nan  # unknown
    driver.state(snapshot(loads=loads, times=TIMES, velocities=speeds), STAMP)
    driver.state(
        snapshot(loads=loads, times=TIMES, velocities=speeds, joints=standing_joints() + 0.01, time=7.5), STAMP
    )
    joints, given, torques, times = estimate.taken[0]
    loads[2, 1] = 0.0
    assert joints == pytest.approx(standing_joints()) and times is TIMES
    assert given == pytest.approx(np.zeros((6, 3)) if speeds is None else speeds)
    assert torques == pytest.approx(loads * STALLS)
    before, feet = forward(robot(), standing_joints()), foot_states(node)
    assert feet.forces.tolist() == FORCES.tolist()
    assert feet.positions == pytest.approx(forward(robot(), standing_joints() + 0.01))
    assert feet.velocities == pytest.approx((feet.positions - before) / 0.5)
    assert len(node.sent("foot_states")) == len(node.sent("joint_states")) == 2
    estimate.forces = None
    driver.state(snapshot(loads=loads, times=TIMES), STAMP)
    assert (len(node.sent("foot_states")), len(node.sent("joint_states"))) == (2, 3)


def test_the_share_of_wrong_estimates_is_named_and_whether_they_are_used(estimate):
    driver, known = DriverOutput(PlainNode(), robot()), snapshot(loads=np.zeros((6, 3)), times=TIMES)
    assert driver.foot_contact_status(known) == "known: 3 % of samples in swing look like contact"
    estimate.valid, estimate.error = False, 0.4
    assert driver.foot_contact_status(known) == "unknown: 40 % of samples in swing look like contact"


def test_with_switches_contacts_are_not_estimated_from_loads(estimate):
    node, switched = PlainNode(), Switched()
    driver = DriverOutput(node, robot(), switched=switched)
    shown = snapshot(loads=np.full((6, 3), 0.5), times=TIMES, input_levels=(True, False))
    driver.state(shown, STAMP)
    assert switched.taken == [(7.0, (True, False))] and not estimate.taken
    assert foot_states(node).forces.tolist() == FORCES.tolist()
    assert foot_states(node).positions == pytest.approx(forward(robot(), standing_joints()))
    switched.known = None
    driver.state(shown, STAMP)
    assert (len(node.sent("foot_states")), len(node.sent("joint_states"))) == (1, 2)
    assert list(node.sent("joint_states")[-1].effort) == pytest.approx((0.5 * STALLS).ravel())
    assert driver.foot_contact_status(shown) == "known: from switches"
    switched.error = "the foot switches are not read"
    assert driver.foot_contact_status(shown) == switched.error


def test_with_contact_sensors_of_another_node_switches_are_not_read():
    node, switched = PlainNode(), Switched()
    DriverOutput(node, robot(), feet=False, switched=switched).state(snapshot(), STAMP)
    assert not switched.taken and "foot_states" not in node.topics and len(node.sent("joint_states")) == 1
