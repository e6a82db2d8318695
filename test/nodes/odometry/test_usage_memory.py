# SPDX-License-Identifier: Apache-2.0
"""Hours and distance outlive restarts: one file per robot, complete or not there, never a reason to stop."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from sensor_msgs.msg import BatteryState
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import overrides

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.names import joint_names
from hexapod_control.core.sensing.usage import Usage
from hexapod_control.nodes.joint_state_input import MeasuredSample
from hexapod_control.nodes.odometry import stored_values
from hexapod_control.nodes.odometry.odometry import OdometryNode, UsageInput
from hexapod_control.nodes.odometry.stored_values import USAGE_PERIOD_S, UsageMemory
from hexapod_control.ros.guarded_node import GuardedNode

USAGE = Usage(100.0, 50.0, 3.0, 10.0, 1.0, 10.5, (7.0, 8.0, 9.0))


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "hexapod_control"


def test_counts_are_kept_seldom_and_at_the_end_and_found_again(folder):
    memory = UsageMemory("/one/my robot")
    assert memory.recall() == Usage() and USAGE_PERIOD_S == 60.0
    memory.keep(USAGE)
    assert not folder.exists()
    memory.close(USAGE)
    assert memory.failure == ""
    assert [path.name for path in folder.iterdir()] == ["usage_one-my-robot.json"]
    assert UsageMemory("/one/my robot").recall() == USAGE
    assert UsageMemory("/two/my robot").recall() == Usage()


def test_counts_are_written_at_most_once_a_minute(monkeypatch):
    clock = [100.0]  # [s]
    monkeypatch.setattr(stored_values, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    memory, written = UsageMemory("robot"), []
    for clock[0] in (159.9, 160.0, 160.1, 219.9, 220.0, 220.1):
        memory.keep(USAGE)
        memory.wait()
        written.append(memory.path.exists())
        memory.path.unlink(missing_ok=True)
    assert written == [False, True, False, False, True, False]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"distance": 1}'])
def test_a_file_that_cannot_be_used_starts_from_zero(folder, text):
    memory = UsageMemory("robot")
    memory.close(USAGE)
    memory.path.write_text(text)
    assert memory.recall() == Usage()


@pytest.mark.parametrize("change", [{"distance": -1.0}, {"energy": float("nan")}, {"cycles": ["x"]}])
def test_impossible_counts_are_ignored(change):
    memory = UsageMemory("robot")
    memory.close(USAGE)
    memory.path.write_text(json.dumps(json.loads(memory.path.read_text()) | change))
    assert memory.recall() == Usage()


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(folder):
    folder.write_text("a file where the folder should be")
    memory = UsageMemory("robot")
    memory.close(USAGE)
    assert memory.failure.startswith(f"{folder}/usage_robot.json: hours and distance are not kept: ")


@pytest.mark.parametrize("current", [-2.0, math.nan], ids=["power of the battery", "work of the servos"])
def test_time_distance_and_energy_are_counted_from_samples_poses_and_power(bench, current):
    usage = UsageInput(bench.add(GuardedNode("odometry")), robot(), keep=False)
    usage.on_battery_state(BatteryState(voltage=9.0, current=-9.0, present=False))
    usage.on_battery_state(BatteryState(voltage=10.0, current=current, present=True))
    torques, swing = np.full((6, 3), 0.5), np.zeros((6, 3))
    swing[0, 0] = 0.2 / 0.5
    count = 1000
    for k in range(count + 1):  # 16 times a second, of which every second one counts
        now = 100.0 + k / 16.0
        joints = standing_joints() + swing * (k / 2 % 2)
        usage.count(MeasuredSample(joints, Time(), False, torques), now, Pose(0.3 * 0.01 * k, 0.4 * 0.01 * k, 0.0))
    seconds, metres = count / 16.0, 0.005 * count
    strokes = count / 4  # forward, with 0.2 J each
    energy = 20.0 * seconds if current == -2.0 else 0.2 * strokes
    status = usage.status()
    assert status["hours on"] == status["hours walking"] == f"{seconds / 3600.0:.2f}" != "0.00"
    assert (status["distance [m]"], status["lowest voltage [V]"]) == (f"{metres:.1f}", "10.00")
    assert float(status["cost of transport [J/(kg m)]"]) == pytest.approx(energy / (robot().mass * metres), rel=0.02)
    assert status["most cycles"].split()[1] == joint_names(robot().leg_names)[0]
    usage.count(MeasuredSample(standing_joints(), Time(), False, None), 50.0, Pose(0.0, 0.0, 0.0))  # set back
    assert usage.status() == status


def test_the_node_goes_on_with_the_counts_of_the_file_and_keeps_them_at_its_end(bench, folder):
    memory = UsageMemory("/phantomx")
    memory.close(Usage(7200.0, 3600.0, 12.0, 0.0, 0.0, 11.0, (1.0,) * 18))
    node = bench.add(OdometryNode(parameter_overrides=overrides(keep_usage=True)))
    assert node.status()["distance [m]"] == "12.0"
    battery = bench.publisher(BatteryState, "battery_state")
    battery.publish(BatteryState(voltage=10.4, current=float("nan"), present=True))
    bench.until(lambda: node.status()["lowest voltage [V]"] == "10.40")
    battery.publish(BatteryState(voltage=float("nan"), present=True))
    node.publish_final_state()
    assert memory.recall().lowest_voltage == pytest.approx(10.4) and memory.recall().distance == 12.0
    assert not node.last_report("usage")
    memory.path.unlink()
    folder.rmdir()
    folder.write_text("a file where the folder should be")
    node.publish_final_state()
    assert "hours and distance are not kept" in node.last_report("usage")
