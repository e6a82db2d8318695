# SPDX-License-Identifier: Apache-2.0
"""`hexapod walk`: the table it writes is a feasible walk."""

import csv
import math
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.drives import GAITS

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import share
from hexapod_control.core import names
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.sensing.odometry import fit, observe
from hexapod_control.core.workspace.capabilities import FORWARD, Capabilities

ROBOTS = ["phantomx", "article"]
LEVEL_TOLERANCE_M = 1e-6  # by which the heights of standing feet may differ


def walk(tmp_path, *arguments):
    out = tmp_path / "walk.csv"
    assert main(["walk", "--out", str(out), *map(str, arguments)]) == 0
    with open(out, newline="") as file:
        head, *rows = csv.reader(file)
    table = np.array(rows, dtype=float)
    return head, table[:, 0], table[:, 1:].reshape(len(table), -1, 3)


def refused(capsys, *arguments):
    assert main(["walk", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    return output.err


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_header_names_the_time_and_every_joint_of_the_robot(tmp_path, robot):
    head, time, joints = walk(tmp_path, "--robot", robot, "--seconds", 1, "--rate", 40)
    assert head == ["t", *names.joint_names(load(robot).robot.leg_names)]
    np.testing.assert_allclose(time, np.arange(41) / 40, atol=1e-12)
    assert joints.shape == (41, 6, 3)


def test_the_first_row_is_the_neutral_stance_and_the_walk_ramps_away_from_it(tmp_path):
    _, _, joints = walk(tmp_path, "--seconds", 2)
    robot = load("phantomx").robot
    start = observe(robot, joints[0], [True] * 6, None)
    np.testing.assert_allclose(start.contacts, [leg.foothold for leg in robot.legs], atol=1e-5)
    assert start.attitude.z == pytest.approx(robot.walk.height, abs=1e-6)
    assert np.abs(joints[1] - joints[0]).max() < 0.02
    assert np.abs(joints[-1] - joints[0]).max() > 0.05


def support(robot, joints):
    """Feet in support are the lowest ones; in wave five of six are, so the median of their heights is the ground."""
    every = observe(robot, joints, [True] * len(joints), None)
    heights = forward(robot, joints)[:, 2]
    floor = np.median(heights)
    planted = [bool(abs(height - floor) < LEVEL_TOLERANCE_M) for height in heights]
    return replace(observe(robot, joints, planted, every), rolled=())  # at the contact points, as in the planner


def test_the_walk_follows_the_twist(tmp_path):
    _, time, joints = walk(tmp_path, "--gait", "wave", "--twist", 0.02, 0, 0.1, "--seconds", 8)
    robot = load("phantomx").robot
    seen = [support(robot, row) for row in joints]
    steps = [fit(a, b).motion for a, b in pairwise(seen)][-100:]
    assert sum(step.yaw for step in steps) / (100 * time[1]) == pytest.approx(0.1, rel=1e-3)
    assert sum(math.hypot(step.x, step.y) for step in steps) / (100 * time[1]) == pytest.approx(0.02, rel=1e-2)


def test_a_low_rate_samples_the_same_walk(tmp_path):
    """At 2 Hz the planner takes several steps per row; the robot still walks, at the same pace."""
    _, time, joints = walk(tmp_path, "--seconds", 3, "--rate", 2)
    assert len(time) == 7
    assert np.isfinite(joints).all()


def test_two_runs_write_identical_tables_in_full_precision(tmp_path):
    first, second = (walk(tmp_path, "--twist", 0.05, 0.01, 0.1, "--seconds", 2)[2] for _ in range(2))
    assert (first == second).all()
    text = (tmp_path / "walk.csv").read_text()
    assert max(len(word.lstrip("-").replace(".", "")) for word in text.split("\n")[20].split(",")) >= 15


def test_without_a_file_the_table_goes_to_standard_output(capsys):
    assert main(["walk", "--seconds", "0.1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--twist", "nan", "0", "0"], "--twist: must be in [-100, 100], is nan; see hexapod walk --help"),
        (["--twist", "0", "fast", "0"], 'is "fast"'),
        (["--seconds", "-1"], "--seconds: must be in [0, 3600] s, is -1"),
        (["--rate", "0"], "--rate: must be in [0.1, 10000] Hz, is 0"),
        (["--gait", "trot"], f"unknown gait 'trot'; known: {', '.join(GAITS)}"),
        (["--robot", "unknown"], "known: article, "),
        (["--out", "/no/such/folder/walk.csv"], "/no/such/folder/walk.csv"),
    ],
)
def test_bad_input_ends_with_code_two_and_one_line(capsys, arguments, message):
    assert message in refused(capsys, *arguments)


def test_a_bad_robot_file_is_reported_with_file_and_key(tmp_path, capsys):
    text = share("config", "robots", "phantomx.yaml").read_text().replace("swing_time: 0.45", "swing_time: -1")
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert "walk.swing_time" in refused(capsys, "--robot", str(path))


def test_no_ros_and_no_physics_is_imported():
    program = (
        "import sys; from hexapod_control.cli.main import main; main(['walk', '--seconds', '0']); "
        "sys.exit(any(name.split('.')[0] in ('rclpy', 'mujoco') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("gait", GAITS)
def test_a_twist_beyond_the_gait_is_reported_with_the_gait_that_allows_it(gait, capsys, tmp_path):
    options = ["--robot", "phantomx", "--gait", gait, "--seconds", "0.1", "--out", str(tmp_path / "walk.csv")]
    capabilities = Capabilities.of(load("phantomx").robot)
    most = {name: capabilities.fastest(FORWARD, [name]).vx for name in capabilities.gaits}
    beyond = 1.01 * most[gait]
    assert main(["walk", *options, "--twist", f"{0.99 * most[gait]}", "0", "0"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["walk", *options, "--twist", f"{beyond}", "0", "0"]) == 0
    fastest = max(most, key=most.get)
    remedy = f"{fastest} allows it" if most[fastest] > beyond else f"no gait allows it, {fastest} comes nearest"
    assert capsys.readouterr().err == f"hexapod: --twist: the gait {gait} allows 99% of the speed; {remedy}\n"
