# SPDX-License-Identifier: Apache-2.0
"""`hexapod patrol`: the file of waypoints, and a walk with the real graph."""

import math
import re

import pytest

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.bringup.shared_process import merged
from hexapod_control.cli.main import main
from hexapod_control.clients.patrol_run import PatrolResult, draw
from hexapod_control.config.errors import WaypointFileError
from hexapod_control.config.waypoint_file import load_route
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.path_following import PursuitHeading, Waypoint

ROUTE = """
waypoints:
  - {x: 0.15, y: 0.05, yaw_deg: 20}
  - {x: 0.05, y: 0.15, yaw_deg: -10, heading: free}
tolerance: 0.04
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "route.yaml"
        path.write_text(text)
        return path

    return write


def test_positions_headings_and_tolerances_are_read_from_a_waypoint_file(file):
    route = load_route(file(ROUTE))
    assert route.waypoints[1] == Waypoint(0.05, 0.15, math.radians(-10), PursuitHeading.FREE)
    assert route.waypoints[0].heading is PursuitHeading.ALIGNED
    assert route.settings.tolerance == 0.04


RISING = 60.0  # [s] allowed for a loaded machine
BOUND = "must be in [-1000, 1000] m"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": is empty, e.g. waypoints: [{x: 1.0, y: 0.5, yaw_deg: 90}]"),
        ("waypoint: 3", ":1: waypoint: is unknown, known here: waypoints, .*, did you mean waypoints?"),
        ("tolerance: 0.05", ":1: waypoints: is missing, must be a list of waypoints, e.g. waypoints: [{x: 1.0"),
        ("waypoints: []", ":1: waypoints: is [], must be a list of at least one waypoint, e.g. waypoints: [{x"),
        ("waypoints:\n  - {x: 1}", f":2: waypoints[0].y: is missing, {BOUND}, every key is required"),
        ("waypoints:\n  - {x: 1, y: 2}\n  - {x: a, y: 1}", f':3: waypoints[1].x: {BOUND}, is "a", write the number'),
        ("waypoints:\n  - {x: .nan, y: 1}", f":2: waypoints[0].x: {BOUND}, is nan"),
        ("waypoints:\n  - {x: 2500, y: 1}", f":2: waypoints[0].x: {BOUND}, is 2500, metres, not millimetres?"),
        ("waypoints:\n  - 3", ":2: waypoints[0]: is 3, must be a section with x, y, yaw_deg, heading"),
        ("waypoints:\n  - {x: 1, y: 1, yaw: 3}", ":2: waypoints[0].yaw: is unknown, .*, did you mean yaw_deg?"),
        (
            "waypoints:\n  - {x: 1, y: 1, heading: up}",
            ':2: waypoints[0].heading: is "up", must be one of aligned, free, leave it out for aligned',
        ),
        (
            "waypoints:\n  - {x: 1, y: 1}\ntolerance: 0",
            ":3: tolerance: must be in [0.005, 1] m, is 0, metres, not millimetres?",
        ),
        ("waypoints: [", ":1: is not valid YAML: "),
    ],
)
def test_a_bad_waypoint_file_is_refused_with_line_key_value_bound_and_remedy(file, text, message):
    path = file(text)
    with pytest.raises(WaypointFileError) as caught:
        load_route(path)
    pattern = re.escape(f"{path}{message}").replace(re.escape(".*"), ".*")
    assert re.match(pattern, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--waypoints", "missing.yaml"], "missing.yaml: there is no such file"),
        (["--waypoints", "x.yaml", "--loops", "0"], "--loops: must be in [1, 10000], is 0"),
        (
            ["--waypoints", "x.yaml", "--out", "way.gif"],
            "--out: way.gif: the name of a picture must end in .png or .svg or .pdf",
        ),
        (["--waypoints", "x.yaml", "--out", "/no/such/way.png"], "is not writable, choose another one"),
    ],
)
def test_bad_input_ends_with_code_two_and_one_line(capsys, arguments, message):
    assert main(["patrol", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_the_picture_is_drawn_with_and_without_ground_truth(tmp_path):
    track = [Pose(0.1 * k, 0.02 * k * k, 0.0) for k in range(10)]
    result = PatrolResult((Waypoint(0.9, 1.6, 1.0),), 0.03, 0.3, list(track), headline="1 of 1 reached")
    result.add_scan([[1.0, 0.0], [1.0, 0.01], [1.0, 0.5]])
    assert len(result.hits) == 2
    for truth in ([], track):
        result.truth = list(truth)
        draw(result, tmp_path / "way.png")
        assert (tmp_path / "way.png").stat().st_size > 5_000


@pytest.mark.heavy
@pytest.mark.physics
def test_two_goals_in_the_obstacle_world_are_reached_with_the_real_graph(file, tmp_path, monkeypatch, capsys):
    """On the simulation's time, which waits for its controller: a busy machine changes no result."""
    from hexapod_control.clients import patrol_run

    monkeypatch.setattr(patrol_run, "POSTURE_S", RISING)  # a busy machine takes longer to stand it up
    picture = tmp_path / "way.png"
    given = {"world": "obstacles", "stand_on_start": True, "web": False, "use_sim_time": True}
    arguments = ["patrol", "--waypoints", str(file(ROUTE)), "--sim-time", "--out", str(picture)]
    lines = []
    with Supervisor((merged(node_graph.specs("sim", given)),), lines.append):
        code = main(arguments)
    out, err = capsys.readouterr()
    assert code == 0, (out, err, lines)
    assert "waypoint 2 of 2 reached" in out
    found = re.search(r"2 of 2 waypoints reached, at most (\d+) mm and ([\d.]+) deg off by ground truth", out)
    assert found, out
    assert float(found[1]) <= 100.0 and float(found[2]) <= 10.0
    assert ", 0 collisions" in out
    assert picture.stat().st_size > 5_000


@pytest.mark.heavy
def test_a_missing_robot_is_reported_with_code_one(file, monkeypatch, capsys):
    from hexapod_control.clients import patrol_run

    monkeypatch.setattr(patrol_run, "READY_S", 0.5)
    assert main(["patrol", "--waypoints", str(file(ROUTE))]) == 1
    assert "no odom arrives: " in capsys.readouterr().err
