"""`hexapod patrol`: the file of waypoints, and a walk with the real graph, one process per node."""

import math
import os
import re
import subprocess
import sys

import pytest
from support.programs import PROGRAM

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.cli.errors import InputError
from hexapod_control.cli.main import main
from hexapod_control.clients.patrol_map import PatrolResult, draw
from hexapod_control.config import waypoint_file
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.path_following import PursuitHeading, Waypoint

ROUTE = """
waypoints:
  - {x: 0.35, y: 0.2, yaw_deg: 40}
  - {x: 0.1, y: 0.45, yaw_deg: -30, heading: free}
tolerance: 0.04
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "route.yaml"
        path.write_text(text)
        return path

    return write


def test_a_file_says_places_headings_and_tolerances(file):
    route = waypoint_file.read(file(ROUTE))
    assert route.waypoints[1] == Waypoint(0.1, 0.45, math.radians(-30), PursuitHeading.FREE)
    assert route.waypoints[0].heading is PursuitHeading.ALIGNED
    assert route.settings.tolerance == 0.04


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ": must be a mapping with the key waypoints; e.g. waypoints: [{x: 1.0"),
        ("waypoint: 3", ":1: waypoint: is unknown; do you mean waypoints?"),
        ("tolerance: 0.05", "waypoints: is missing"),
        ("waypoints: []", ":1: waypoints: must be a list of at least one waypoint"),
        ("waypoints:\n  - {x: 1}", ":2: waypoints[0].y: is missing; a waypoint has x and y in metres"),
        ("waypoints:\n  - {x: 1, y: 2}\n  - {x: a, y: 1}", ":3: waypoints[1].x: must be a number in [-1000, 1000] m"),
        ("waypoints:\n  - {x: .nan, y: 1}", "waypoints[0].x: must be a number in [-1000, 1000] m, is nan"),
        ("waypoints:\n  - 3", ":2: waypoints[0]: must be a mapping, is 3"),
        ("waypoints:\n  - {x: 1, y: 1, yaw: 3}", "waypoints[0].yaw: is unknown; do you mean yaw_deg?"),
        ("waypoints:\n  - {x: 1, y: 1, heading: up}", "waypoints[0].heading: must be one of aligned, free, is 'up'"),
        ("waypoints:\n  - {x: 1, y: 1}\ntolerance: 0", ":3: tolerance: must be a number in [0.005, 1] m, is 0"),
        ("waypoints: [", "is not valid YAML: line"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_line_and_key(file, text, told):
    path = file(text)
    with pytest.raises(InputError) as caught:
        waypoint_file.read(path)
    assert str(caught.value).startswith(str(path))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--waypoints", "missing.yaml"], "missing.yaml: cannot be read: No such file"),
        (["--waypoints", "x.yaml", "--loops", "0"], "--loops: must be in [1, 10000], is 0"),
        (["--waypoints", "x.yaml", "--out", "way.gif"], "--out: way.gif: a picture is one of .png, .svg, .pdf"),
        (["--waypoints", "x.yaml", "--out", "/no/such/way.png"], "cannot be written to"),
    ],
)
def test_bad_input_ends_with_two_and_one_line(capsys, words, told):
    assert main(["patrol", *words]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.err.count("\n") == 1


def test_the_picture_is_drawn_with_and_without_ground_truth(tmp_path):
    track = [Pose(0.1 * k, 0.02 * k * k, 0.0) for k in range(10)]
    result = PatrolResult((Waypoint(0.9, 1.6, 1.0),), 0.03, 0.3, list(track), headline="1 of 1 reached")
    result.see([[1.0, 0.0], [1.0, 0.01], [1.0, 0.5]])
    assert len(result.seen) == 2
    for truth in ([], track):
        result.truth = list(truth)
        draw(result, tmp_path / "way.png")
        assert (tmp_path / "way.png").stat().st_size > 5_000


@pytest.mark.process
@pytest.mark.physics
def test_two_goals_in_the_obstacle_world_are_reached_with_the_real_graph(file, tmp_path):
    """On the simulation's time, which waits for its controller: a busy machine makes it slower, not worse."""
    picture = tmp_path / "way.png"
    given = {"world": "obstacles", "stand_on_start": True, "web": False, "use_sim_time": True}
    words = ["patrol", "--waypoints", str(file(ROUTE)), "--sim-time", "--out", str(picture)]
    lines = []
    with Supervisor(node_graph.specs("sim", given), lines.append):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=160.0, env=dict(os.environ)
        )
    assert done.returncode == 0, (done.stdout, done.stderr, lines)
    assert "waypoint 2 of 2 reached" in done.stdout
    found = re.search(r"2 of 2 waypoints reached, at most (\d+) mm and ([\d.]+) deg off by ground truth", done.stdout)
    assert found, done.stdout
    assert float(found[1]) <= 100.0 and float(found[2]) <= 10.0
    assert ", 0 collisions" in done.stdout
    assert picture.stat().st_size > 5_000


@pytest.mark.process
def test_without_a_robot_it_says_so_and_ends_with_one(file, monkeypatch, capsys):
    from hexapod_control.clients import patrol

    monkeypatch.setattr(patrol, "READY", 0.5)
    assert main(["patrol", "--waypoints", str(file(ROUTE))]) == 1
    assert "no odom: is the robot running" in capsys.readouterr().err
