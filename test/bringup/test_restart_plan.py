# SPDX-License-Identifier: Apache-2.0
"""Which node is restarted, when and how, for all nodes of all graphs."""

import signal
from types import SimpleNamespace

import pytest
from support import launch_stubs

from hexapod_control.bringup.node_graph import GRAPHS, NodeSpec
from hexapod_control.bringup.restart_plan import (
    CRASH_WINDOW_S,
    DELAYS_S,
    GRACE_PERIOD_S,
    RULES,
    RestartPlan,
    report,
    restart_spec,
)
from hexapod_control.bringup.shared_process import EXECUTABLES
from hexapod_control.config.errors import INVALID_INPUT
from hexapod_control.config.shipped_files import share

NODES = sorted({row.executable for rows in GRAPHS.values() for row in rows})
KILLED = -9


@pytest.mark.parametrize("name", sorted(set(NODES) - {"mujoco_sim"}))
def test_a_node_is_restarted_with_growing_delays_and_the_third_crash_within_a_minute_is_the_end(name):
    plan = RestartPlan()
    assert [plan.delay(name, KILLED, now) for now in (0.0, 10.0, 59.0)] == [*DELAYS_S, None]
    assert plan.crashes(name) == len(DELAYS_S) + 1


@pytest.mark.parametrize("name", sorted(set(NODES) - {"mujoco_sim"}))
def test_crashes_more_than_a_minute_ago_and_those_of_other_nodes_do_not_count(name):
    plan = RestartPlan()
    for crash in range(10):
        assert plan.delay(name, KILLED, crash * (CRASH_WINDOW_S + 1.0)) == DELAYS_S[0]
        assert plan.delay("other", KILLED, crash * (CRASH_WINDOW_S + 1.0)) == DELAYS_S[0]


@pytest.mark.parametrize("name", NODES)
def test_a_node_that_refuses_its_parameters_is_never_restarted(name):
    assert RestartPlan().delay(name, INVALID_INPUT, 0.0) is None


def test_a_simulator_and_a_driver_that_ended_in_order_are_not_restarted():
    assert RestartPlan().delay("mujoco_sim", KILLED, 0.0) is None
    assert RestartPlan().delay("servo_driver", 0, 0.0) is None
    assert RestartPlan().delay("servo_driver", KILLED, 0.0) == DELAYS_S[0]


def test_a_restarted_robot_neither_switches_torque_on_nor_stands_up_by_itself():
    driver = NodeSpec("servo_driver", parameters={"robot": "phantomx", "arm_on_start": True})
    assert restart_spec(driver).parameters == {"robot": "phantomx", "arm_on_start": False, "assume_lying": False}
    assert (
        restart_spec(NodeSpec("gait_planner", parameters={"stand_on_start": True})).parameters["stand_on_start"]
        is False
    )
    assert restart_spec(NodeSpec("web")) == NodeSpec("web")
    assert "the servos hold their last goals; run hexapod arm, then hexapod stand" in report(
        "servo_driver", KILLED, 0.5
    )


def test_the_rules_are_for_nodes_that_exist():
    assert set(RULES) <= {*NODES, *EXECUTABLES}
    assert {companion for rule in RULES.values() if rule for companion in rule.companions} <= set(NODES)


@pytest.fixture
def launched(request, monkeypatch):
    """The nodes of a graph, `sim` unless the test names one, as its launch file starts them."""
    launch_stubs.install(monkeypatch)
    nodes = launch_stubs.Include().start(share("launch", f"{getattr(request, 'param', 'sim')}.launch.py"))
    return {node.named["executable"]: node for node in nodes}


def actions_after_end(node, code=KILLED):
    """The actions after the end of a node."""
    context = SimpleNamespace(is_shutdown=False, locals=SimpleNamespace(event=SimpleNamespace(returncode=code)))
    actions = performed(node.named["on_exit"], context)
    while actions and "function" in actions[0].named:
        actions = performed(actions[0], context)
    return actions


def performed(action, context=None):
    """What an OpaqueFunction does."""
    return action.named["function"](context, *action.named.get("args", ()))


def again(timer):
    [node] = performed(timer.named["actions"][0])
    return node


def test_a_launch_file_restarts_a_node_with_its_graph_and_ends_after_the_third_crash(launched):
    report, timer = actions_after_end(launched["web"])
    assert "web died with exit code -9 (SIGKILL): it starts again in 0.5 s; the robot" in report.named["msg"]
    node = again(timer)
    assert (timer.named["period"], node.named["executable"]) == (DELAYS_S[0], "web")
    assert node.named["additional_env"] == launched["odometry"].named["additional_env"]
    actions_after_end(node)
    with pytest.raises(RuntimeError, match="web died with exit code -9"):
        actions_after_end(node)
    with pytest.raises(RuntimeError, match="mujoco_sim died"):
        actions_after_end(launched["mujoco_sim"])


def test_a_launch_file_restarts_the_planner_with_the_kinematics(launched):
    _, kill, *timers = actions_after_end(launched["inverse_kinematics"])
    assert kill.named["event"].named == {
        "signal_number": signal.SIGKILL, "process_matcher": launched["gait_planner"]
    }  # fmt: skip
    assert actions_after_end(launched["gait_planner"]) == []
    assert [again(timer).named["executable"] for timer in timers] == ["gait_planner", "inverse_kinematics"]


@pytest.mark.parametrize("code", [0, -signal.SIGINT])
def test_a_launch_file_waits_whether_it_is_to_end_too_before_it_judges_a_node_that_ended_in_order(launched, code):
    [timer] = actions_after_end(launched["mujoco_sim"], code)
    assert timer.named["period"] == GRACE_PERIOD_S
    with pytest.raises(RuntimeError, match="mujoco_sim died"):
        performed(timer.named["actions"][0])


@pytest.mark.parametrize("launched", ["display"], indirect=True)
def test_a_launch_file_ends_in_order_when_the_window_of_rviz_is_closed(launched):
    [timer] = actions_after_end(launched["rviz2"], 0)
    [end] = performed(timer.named["actions"][0])
    assert end.named["reason"] == "the window of rviz2 was closed"
