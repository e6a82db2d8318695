"""The summary of the diagnostics of all nodes on the page."""

import pytest

from hexapod_control.nodes.web.diagnostics_summary import (
    MAX_AGE_S,
    MAX_STATUSES,
    NodeStatus,
    RecentStatuses,
    first_number,
    loop_rate,
    summary,
    temperatures,
)


def test_without_diagnostics_the_torque_counts_as_on_and_nothing_else_is_known():
    assert summary({}) == {
        "leg_gap": None,
        "feedback": "",
        "estop": False,
        "torque": True,
        "world": {},
        "loops": {},
        "temperatures": {},
        "diagnostics": [],
    }


def test_values_of_all_nodes_are_put_together():
    nodes = {
        "/one/servo_driver": NodeStatus(
            2, "hot", {"emergency stop": "latched", "torque": "False", "loop [Hz]": "49.8"}
        ),
        "/one/gait_planner": NodeStatus(0, "ok", {"leg gap m": "0.012", "loop [Hz]": "-"}),
    }
    found = summary(nodes)
    assert (found["estop"], found["torque"], found["leg_gap"]) == (True, False, 0.012)
    assert found["loops"] == {"servo_driver": 49.8}
    assert found["diagnostics"] == [
        {"name": "gait_planner", "level": 0, "text": "ok"},
        {"name": "servo_driver", "level": 2, "text": "hot"},
    ]


def test_the_world_is_that_of_the_simulator_alone():
    values = {"world": "slope", "friction": "0.8", "payload [kg]": "1", "paused": "False"}
    assert summary({"/mujoco_sim": NodeStatus(0, "ok", values)})["world"] == {
        "world": "slope",
        "friction": "0.8",
        "payload": "1",
    }
    assert summary({"/web": NodeStatus(0, "ok", values)})["world"] == {}


def test_temperatures_are_named_by_joint():
    assert temperatures({"temperature [deg C]": "41", "left_front_coxa temperature": "50.5", "voltage": "11"}) == {
        "servos": 41.0,
        "left_front_coxa": 50.5,
    }


@pytest.mark.parametrize(("text", "number"), [("49.8 Hz", 49.8), ("-3", -3.0), ("none", None), ("", None)])
def test_the_first_number_of_a_text_is_found(text, number):
    assert first_number(text) == number
    assert loop_rate({"Loop rate": text}) == number


def test_old_statuses_are_forgotten_and_of_many_names_the_newest_are_kept():
    recent, status = RecentStatuses(), NodeStatus(0, "ok", {})
    recent.take("/odometry", status, 0.0)
    assert recent.at(0.9 * MAX_AGE_S) == {"/odometry": status} and recent.at(MAX_AGE_S) == {}
    for number in range(2 * MAX_STATUSES):
        recent.take(f"{number}", status, 0.0)
        recent.take("/web", status, 0.0)
    assert set(recent.at(0.0)) == {"/web", *(f"{number}" for number in range(MAX_STATUSES + 1, 2 * MAX_STATUSES))}
