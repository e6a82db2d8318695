# SPDX-License-Identifier: Apache-2.0
"""`make bench`: C and Python kinematics agree, and the document lists what was measured and what is missing."""

import json
import math
import shutil
import sys

import batch_kinematics
import many_robots
import numpy as np
import planner_tick
import pytest
from c_kinematics import CKinematics
from measure import SECTIONS, main
from support.drives import GAITS, ROBOTS, fitting, robot

from hexapod_control.bringup.shared_process import merged
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.kinematics.se2 import Twist

ROUNDING = 1e-12  # [m, rad]: both compute the same formulas in double precision


@pytest.fixture
def short(monkeypatch):
    for name, value in (("REPEATS", 1), ("PYTHON_TICKS", 20), ("C_TICKS", 200)):
        monkeypatch.setattr(planner_tick, name, value)


@pytest.mark.compiler
@pytest.mark.parametrize("name", ROBOTS)
def test_the_kinematics_in_c_and_in_python_agree_along_a_walk(name):
    kinematics = CKinematics(robot(name))
    planner = planner_tick.standing_planner(robot(name), "tripod")
    planner.command(fitting(planner, Twist(1.0, 0.3, 3.0), 0.8, "tripod"))
    for _ in range(100):
        joints = np.array(planner.step(planner_tick.TICK_S).joint_angles)
        feet, angles = kinematics.run(joints, 1)
        expected = forward(robot(name), joints)
        assert np.abs(feet - expected).max() <= ROUNDING
        assert np.abs(angles - inverse(robot(name), expected, joints).joints).max() <= ROUNDING


@pytest.mark.compiler
def test_many_ticks_in_c_stay_at_the_same_joint_angles():
    planner = planner_tick.standing_planner(robot("phantomx"), "tripod")
    joints = np.array(planner.step(planner_tick.TICK_S).joint_angles)
    feet, angles = CKinematics(robot("phantomx")).run(joints, 5000)
    assert np.abs(angles - joints).max() <= 1e-9  # 5000 roundings add up at most
    assert np.abs(feet - forward(robot("phantomx"), joints)).max() <= 1e-9


@pytest.mark.compiler
def test_the_tick_is_one_json_document_on_stdout_with_sorted_keys(short, capsys):
    assert main(["tick"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    ticks = ("tick", "tick_gaits", "tick_map", "tick_parts", "tick_supervised")
    assert list(found) == sorted(found) == ["machine", "robot", *ticks]
    assert set(found["tick_gaits"]) == set(GAITS) and set(found["tick_parts"]) == {"planner_us", "kinematics_us"}
    assert {"architecture", "cpus", "numpy", "python"} <= set(found["machine"])
    tick = found["tick"]
    assert tick["ratio"] == pytest.approx(tick["python_us"] / tick["c_kinematics_us"], rel=0.01)
    assert tick["ratio"] > 1.0  # Python is not faster than C; the figure itself needs a quiet machine
    supervised = found["tick_supervised"]
    assert supervised["ratio"] == pytest.approx(supervised["supervised_us"] / supervised["bare_us"], rel=0.01)
    assert supervised["ratio"] > 1.0
    assert set(found["tick_map"]) == {"none_us", "flat_ratio", "blocks_ratio"}
    assert "tick: wave" in err


def test_the_kinematics_of_many_legs_at_once_are_compared_with_those_of_single_legs(monkeypatch, capsys):
    monkeypatch.setattr(batch_kinematics, "REPEATS", 3)
    assert main(["kinematics"]) == 0
    found = json.loads(capsys.readouterr().out)["kinematics"]
    assert set(found) == {"inverse", "forward"}
    for row in found.values():
        assert row["ratio"] == pytest.approx(row["legs_per_second"] / row["single_legs_per_second"], rel=0.01)
    assert found["inverse"]["ratio"] > 5.0 and found["forward"]["ratio"] > 2.0


def test_without_a_compiler_the_tick_is_skipped_with_the_reason(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main(["tick"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["tick"] == {"skipped": "gcc is missing: apt install gcc libc6-dev"}
    assert "gcc is missing" in err


@pytest.mark.parametrize(
    ("name", "module"),
    [
        *(("graph", "rclpy"), ("one_process", "rclpy"), ("robots", "rclpy"), ("web", "rclpy")),
        *(("physics", "mujoco"), ("learning", "gymnasium")),
    ],
)
def test_without_a_library_its_section_is_skipped_with_the_reason(name, module, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, SECTIONS[name].module, raising=False)
    for loaded in [item for item in sys.modules if item.startswith("hexapod_control.sim")]:
        monkeypatch.delitem(sys.modules, loaded)
    for loaded in [item for item in sys.modules if item.startswith("hexapod_control.nodes")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    assert main([name]) == 0
    reason = json.loads(capsys.readouterr().out)[name]["skipped"]
    assert reason.startswith(f"{module} is missing: ") and (module != "mujoco" or "pip install mujoco" in reason)


def test_without_a_browser_the_page_is_skipped_before_a_robot_starts(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main(["web"]) == 0
    reason = json.loads(capsys.readouterr().out)["web"]["skipped"]
    assert reason.startswith("Chromium is missing: ") and "apt install chromium-headless-shell" in reason


def test_a_section_that_fails_is_reported_and_the_exit_code_is_one(monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("the robot does not walk")

    monkeypatch.setattr(planner_tick, "measure", fail)
    assert main(["tick"]) == 1
    assert json.loads(capsys.readouterr().out)["tick"] == {"failed": "the robot does not walk"}


@pytest.mark.parametrize(
    ("words", "reason"), [(["tock"], "web, physics, is 'tock'"), (["--robot", "no"], "no: is not a known robot")]
)
def test_an_unknown_section_or_robot_is_bad_input(words, reason, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and reason in capsys.readouterr().err


@pytest.mark.physics
def test_the_physics_section_has_a_row_per_case(monkeypatch, capsys):
    import flat_ground

    rows = flat_ground.rows
    monkeypatch.setattr(flat_ground, "rows", lambda robot_file: rows(robot_file, flat_ground.CASES[:1]))
    assert main(["physics"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["physics"]
    assert case["gait"] == "tripod" and case["twist"] == [0.1, 0.0, 0.0] and case["limits_kept"] is True
    assert case["ratios"][0] == pytest.approx(1.0, abs=0.02)


@pytest.mark.heavy
def test_the_graph_is_compared_with_bare_relays_of_the_same_messages(monkeypatch):
    import graph_load

    for name, value in (("LATENCY_WINDOW_S", 0.8), ("CPU_WINDOW_S", 0.4), ("SETTLE_S", 0.1)):
        monkeypatch.setattr(graph_load, name, value)
    progress = []
    found = graph_load.measure(load("phantomx"), progress.append, turns=1)
    latency, cpu = found["graph_latency"], found["graph_cpu"]
    assert min(latency["samples"]) >= 25
    assert latency["ratio"] == pytest.approx(latency["graph_us"] / latency["bare_us"], abs=0.01)
    assert latency["planning_us"] < latency["graph_us"]
    assert set(cpu) == {*graph_load.COUNTERPARTS, "total", "total_without_physics"}
    assert all(math.isfinite(part["ratio"]) and np.isfinite(part["graph_percent"]) for part in cpu.values())
    json.dumps(found, allow_nan=False)


@pytest.mark.heavy
def test_several_robots_walk_at_the_same_time_and_each_is_measured(monkeypatch):
    import many_robots

    group = many_robots.group
    for name, value in (("WINDOW_S", 1.0), ("SETTLE_S", 0.2), ("RATES_HZ", (10.0,))):
        monkeypatch.setattr(many_robots, name, value)
    # Of the figures only the form is checked here: one process per robot starts in half of the time of four.
    monkeypatch.setattr(many_robots, "group", lambda specs, progress: group((merged(specs),), progress))
    found = many_robots.measure(load("phantomx"), lambda line: None, counts=(1, 2))["robots"]
    assert [row["robots"] for row in found["rows"]] == [1, 2]
    for row in found["rows"]:
        assert row["cpu_percent_each"] > 0.0 and 0.0 < row["latency_us"] <= row["latency_p95_us"]
        assert 0.2 * row["rate_hz"] < row["rows_per_second_each"] < 2.0 * row["rate_hz"]
    (growth,) = found["growth"]
    assert growth["cpu"] > 0.0 and growth["robots"] == 2
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("free", "rates", "note"),
    [
        ([(True, True)], [50.0, 50.0], False),
        ([(True, False), (True, True)], [50.0, 50.0, 10.0, 10.0], False),
        ([(True, False), (False, False)], [50.0, 50.0, 10.0, 10.0], True),
    ],
)
def test_robots_are_measured_again_at_a_lower_rate_until_a_core_is_free(free, rates, note):
    cores = iter(free)

    def series(rate):
        return [
            {
                "robots": count,
                "rate_hz": rate,
                "cpu_us_per_row": 100.0 * count,
                "latency_us": 300.0,
                "cores_free": found,
            }
            for count, found in zip((1, 2), next(cores), strict=True)
        ]

    found = many_robots.until_free((50.0, 10.0), series)
    assert [row["rate_hz"] for row in found["rows"]] == rates
    assert [growth["cores_free"] for growth in found["growth"]] == [all(pair) for pair in free]
    assert all(growth["cpu"] == 2.0 and growth["latency"] == 1.0 for growth in found["growth"])
    assert ("note" in found) is note
