# SPDX-License-Identifier: Apache-2.0
"""mujoco_sim on real DDS: the topics and services of a driver node, and those that only a simulator has."""

import math
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, MultiDOFJointState
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import LATE, overrides
from support.real_time.simulator_rig import MANY, ON, Rig

from hexapod_control.config.errors import RobotFileError
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.monitoring.clock_monitor import ClockState
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.sim.rendering.state_recording import KEYS
from hexapod_control.sim.start_poses import sitting_pose

pytestmark = pytest.mark.physics


@pytest.fixture
def rig(bench):
    return Rig(bench)


def seconds(message):
    stamp = message.header.stamp if hasattr(message, "header") else message.clock
    return stamp.sec + 1e-9 * stamp.nanosec


def rate(received):
    return (len(received) - 1) / (seconds(received[-1]) - seconds(received[0]))


def test_at_rest_every_topic_is_published_at_its_rate(bench):
    imu = bench.listen(Imu, "imu/data", MANY)
    feet = bench.listen(MultiDOFJointState, "foot_states", MANY)
    rig = Rig(bench, publish_clock=True)
    rig.wait(50)
    assert rate(rig.states) == pytest.approx(50.0, rel=1e-6)
    assert rate(feet) == pytest.approx(50.0, rel=1e-6)
    assert rate(rig.truth) == pytest.approx(50.0, rel=1e-6)
    assert rate(imu) == pytest.approx(100.0, rel=1e-6)


def test_with_publish_clock_all_stamps_are_monotonic_simulated_time(bench):
    clock = bench.listen(Clock, "/clock", MANY)
    rig = Rig(bench, publish_clock=True)
    rig.wait(10)
    rig.call("mujoco_sim/reset_world")
    rig.wait(10)
    steps = np.diff([seconds(message) for message in clock])
    assert steps == pytest.approx(np.full(len(steps), 0.01), abs=1e-6)
    assert seconds(clock[0]) < 0.1  # from zero on
    assert {seconds(state) for state in rig.states} <= {seconds(message) for message in clock}


def test_a_paused_world_repeats_its_time_so_that_no_node_takes_its_clock_for_stopped(bench):
    rig = Rig(bench, publish_clock=True)
    node = bench.add(GuardedNode("follower", parameter_overrides=overrides(use_sim_time=True)))
    bench.until(lambda: node.get_clock().now().nanoseconds)
    assert rig.call("mujoco_sim/set_pause", ON).success
    bench.until(lambda: node.clock_monitor.check(time.monotonic()) is ClockState.PAUSED)
    assert node.last_report("clock") == ""
    bench.remove(rig.node)
    bench.until(lambda: "/clock has stopped at" in node.last_report("clock"), 2.0 + LATE)


def test_missing_targets_while_moving_are_reported_in_diagnostics(bench):
    received = bench.listen(DiagnosticArray, "/diagnostics", MANY)
    rig = Rig(bench)
    rig.send(sitting_pose(robot()) + 0.1, np.full((6, 3), 0.5))
    bench.until(lambda: any("no joint_targets for 0.2 s" in array.status[0].message for array in received))


def test_targets_that_cannot_be_used_are_refused_and_the_robot_holds(rig):
    message = rig.layout.message(standing_joints(), None, rig.node.get_clock().now().to_msg())
    message.position[4] = math.nan
    rig.targets.publish(message)
    rig.bench.until(lambda: "is nan; send finite numbers" in rig.node.last_report("refused joint_targets"))
    rig.wait(10)
    assert rig.joints == pytest.approx(sitting_pose(robot()), abs=0.05)


def test_targets_beyond_a_joint_limit_are_reported_and_the_robot_counts_as_driven_until_they_stop(rig):
    limit = robot().legs[0].coxa_joint.upper
    rig.send(sitting_pose(robot()) + np.array([limit + 0.5, 0.0, 0.0]))
    rig.bench.until(lambda: "rad outside the joint limits: clamped" in rig.node.last_report("targets"))
    assert not rig.node.stopped()
    assert rig.bench.until(rig.node.stopped, 1.0) > 0.1


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"world": "moon"}, ParameterError, f"world must be one of {', '.join(WORLDS)}"),
        ({"payload": -1.0}, ParameterError, "payload must be in [0, 20] kg"),
        ({"servo_model": "rocket"}, ParameterError, "servo_model must be one of ax12, mg90s, "),
        ({"rate": math.nan}, ParameterError, "rate must be in [50, 500] Hz"),
        ({"robot": "unknown"}, RobotFileError, "known: article, "),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_before_anything_runs(bench, parameters, error, sentence):
    with pytest.raises(error, match=sentence.replace("[", r"\[")):
        MujocoSimNode(parameter_overrides=overrides(**parameters))


def test_the_record_has_the_states_of_the_run(bench, tmp_path):
    path = tmp_path / "run.npz"
    rig = Rig(bench, publish_clock=True, record=str(path), record_rate=20.0)
    rig.wait(50)
    rig.node.publish_final_state()
    with np.load(path) as frames:
        assert set(frames) == set(KEYS)
        assert np.diff(frames["time"]) == pytest.approx(np.full(len(frames["time"]) - 1, 0.05), abs=0.02)
        assert len(frames["time"]) >= 18
