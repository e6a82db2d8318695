# SPDX-License-Identifier: Apache-2.0
"""The summary of the diagnostics of all nodes on the page."""

import pytest

from hexapod_control.nodes.web.diagnostics_summary import (
    MAX_AGE_S,
    MAX_STALE_S,
    MAX_STATUSES,
    STALE,
    NodeStatus,
    RecentStatuses,
    errors,
    first_number,
    loop_rate,
    summary,
    temperatures,
)


def test_without_diagnostics_nothing_is_known():
    assert summary({}) == {
        "leg_gap": None,
        "feedback": "",
        "estop": False,
        "torque": None,
        "found": False,
        "way_out": "",
        "reset": False,
        "calibrating": False,
        "unplugged": False,
        "top_speeds": [],
        "lift": None,
        "world": {},
        "battery_limits": None,
        "bus": "",
        "usage": {},
        "loops": {},
        "temperatures": {},
        "loads": {},
        "diagnostics": [],
    }


def test_values_of_all_nodes_are_put_together():
    nodes = {
        "/one/servo_driver": NodeStatus(
            2, "hot", {"emergency stop": "latched", "torque": "False", "loop [Hz]": "49.8"}
        ),
        "/one/gait_planner": NodeStatus(0, "ok", {"leg gap m": "0.012", "loop [Hz]": "-", "top speeds": "0.1 nan 1"}),
    }
    found = summary(nodes)
    assert found["top_speeds"] == [0.1, None, 1.0]
    assert (found["estop"], found["torque"], found["leg_gap"]) == (True, False, 0.012)
    assert found["loops"] == {"servo_driver": 49.8}
    assert found["diagnostics"] == [
        {"name": "gait_planner", "level": 0, "text": "ok", "age": 0},
        {"name": "servo_driver", "level": 2, "text": "hot", "age": 0},
    ]


def test_the_world_is_that_of_the_simulator_alone():
    values = {"world": "slope", "friction": "0.8", "payload [kg]": "1", "reality": "worn", "paused": "False"}
    assert summary({"/mujoco_sim": NodeStatus(0, "ok", values)})["world"] == {
        "world": "slope",
        "friction": "0.8",
        "payload": "1",
        "reality": "worn",
    }
    assert summary({"/web": NodeStatus(0, "ok", values)})["world"] == {}


def test_an_emergency_stop_of_one_of_several_nodes_is_shown():
    """On a simulated bus both nodes report the torque; the simulator has no latch."""
    nodes = {
        "/servo_driver": NodeStatus(2, "emergency stop", {"emergency stop": "latched", "torque": "False"}),
        "/mujoco_sim": NodeStatus(0, "ok", {"emergency stop": "no", "torque": "True"}),
    }
    assert (summary(nodes)["estop"], summary(nodes)["torque"]) == (True, False)


def test_the_temperature_and_load_of_every_servo_are_named_by_joint():
    values = {"temperatures [degC]": "35 48.5 nan", "loads": "0.1 0.2 0.3"}
    found = summary({"/servo_driver": NodeStatus(0, "ok", values)}, ("coxa", "femur", "tibia"))
    assert found["temperatures"] == {"coxa": 35.0, "femur": 48.5}
    assert found["loads"] == {"coxa": 0.1, "femur": 0.2, "tibia": 0.3}


def test_the_limits_of_the_battery_are_known_once_the_driver_knows_them():
    for text, limits in (("10.5 8.8", [10.5, 8.8]), ("unknown", None)):
        nodes = {"/servo_driver": NodeStatus(0, "ok", {"battery limits [V]": text})}
        assert summary(nodes)["battery_limits"] == limits


def test_errors_are_listed_as_their_nodes_report_them():
    text = "emergency stop: run hexapod reset, then hexapod arm"
    nodes = {"/servo_driver": NodeStatus(2, text, {}), "/web": NodeStatus(1, "slow", {})}
    assert errors(nodes) == {"servo_driver": text}
    assert summary(nodes)["diagnostics"][0]["text"] == text


def test_temperatures_are_named_by_joint():
    assert temperatures({"temperature [deg C]": "41", "left_front_coxa temperature": "50.5", "voltage": "11"}) == {
        "servos": 41.0,
        "left_front_coxa": 50.5,
    }


@pytest.mark.parametrize(("text", "number"), [("49.8 Hz", 49.8), ("-3", -3.0), ("none", None), ("", None)])
def test_the_first_number_of_a_text_is_found(text, number):
    assert first_number(text) == number
    assert loop_rate({"Loop rate": text}) == number


def test_old_statuses_are_stale_and_of_many_names_the_newest_are_kept():
    recent, status = RecentStatuses(), NodeStatus(0, "ok", {})
    recent.take("/teleop", status, 0.0)
    recent.take("/gait_planner", status, 0.0)
    late = MAX_AGE_S + 0.1
    assert [each.shown_level for each in recent.at(MAX_AGE_S).values()] == [0, 0]
    assert [each.shown_level for each in recent.at(late).values()] == [STALE, STALE]
    assert set(recent.at(MAX_STALE_S + 1.0)) == {"/gait_planner"}  # the robot needs it
    for number in range(2 * MAX_STATUSES):
        recent.take(f"{number}", status, 0.0)
        recent.take("/web", status, 0.0)
    assert set(recent.at(0.0)) == {"/web", *(f"{number}" for number in range(MAX_STATUSES + 1, 2 * MAX_STATUSES))}
