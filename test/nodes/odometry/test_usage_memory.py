"""Hours and distance outlive restarts: one file per robot, complete or not there, never a reason to stop."""

import json

import pytest
from sensor_msgs.msg import BatteryState
from support.real_time.ros_bench import overrides

from hexapod_control.core.sensing.usage import Usage
from hexapod_control.nodes.odometry.odometry import OdometryNode
from hexapod_control.nodes.odometry.usage_memory import PERIOD_S, UsageMemory

USAGE = Usage(100.0, 50.0, 3.0, 10.0, 1.0, 10.5, (7.0, 8.0, 9.0))


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "hexapod_control"


def test_counts_are_kept_seldom_and_at_the_end_and_found_again(folder):
    memory = UsageMemory("/one/my robot")
    assert memory.recall() == Usage() and PERIOD_S == 60.0
    assert memory.keep(USAGE) == "" and not folder.exists()
    assert memory.keep(USAGE, at_once=True) == ""
    assert [path.name for path in folder.iterdir()] == ["usage_one-my-robot.json"]
    assert UsageMemory("/one/my robot").recall() == USAGE
    assert UsageMemory("/two/my robot").recall() == Usage()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"distance": 1}'])
def test_a_file_that_cannot_be_used_starts_from_zero(folder, text):
    memory = UsageMemory("robot")
    memory.keep(USAGE, at_once=True)
    memory.path.write_text(text)
    assert memory.recall() == Usage()


@pytest.mark.parametrize("change", [{"distance": -1.0}, {"energy": float("nan")}, {"cycles": ["x"]}])
def test_a_count_that_cannot_be_is_not_believed(change):
    memory = UsageMemory("robot")
    memory.keep(USAGE, at_once=True)
    memory.path.write_text(json.dumps(json.loads(memory.path.read_text()) | change))
    assert memory.recall() == Usage()


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(folder):
    folder.write_text("a file where the folder should be")
    failure = UsageMemory("robot").keep(USAGE, at_once=True)
    assert failure.startswith(f"{folder}/usage_robot.json: hours and distance are not kept: ")


def test_the_node_goes_on_with_the_counts_of_the_file_and_keeps_them_at_its_end(bench, folder):
    memory = UsageMemory("/phantomx")
    memory.keep(Usage(7200.0, 3600.0, 12.0, 0.0, 0.0, 11.0, (1.0,) * 18), at_once=True)
    node = bench.add(OdometryNode(parameter_overrides=overrides(keep_usage=True)))
    assert node.status()["distance [m]"] == "12.0"
    battery = bench.publisher(BatteryState, "battery_state")
    battery.publish(BatteryState(voltage=10.4, current=float("nan"), present=True))
    bench.until(lambda: node.status()["lowest voltage [V]"] == "10.40")
    battery.publish(BatteryState(voltage=float("nan"), present=True))
    node.publish_final_state()
    assert memory.recall().lowest_voltage == pytest.approx(10.4) and memory.recall().distance == 12.0
