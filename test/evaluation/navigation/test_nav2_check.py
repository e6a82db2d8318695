# SPDX-License-Identifier: Apache-2.0
"""What `hexapod nav2-check` needs without Nav2: the map of the room, the processes, and the count of reports."""

import sys

import numpy as np
import pytest
import rclpy
from PIL import Image
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_srvs.srv import Trigger

from hexapod_control.bringup import nav2_graph
from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.evaluation.navigation.nav2_check import (
    FREE,
    RESOLUTION_M,
    MissingNav2Error,
    ReportCounter,
    command_lines,
    navigation,
    write_room_map,
)
from hexapod_control.evaluation.navigation.nav2_walk import Nav2Walker
from hexapod_control.evaluation.navigation.room_film import MARGIN_M, PERIOD_S, render
from hexapod_control.sim.free_places import distance_to_obstacles
from hexapod_control.sim.rendering.state_recording import StateRecording
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

ROOM = WorldSettings(world="obstacles", seed=3)


def test_the_map_shows_the_room_that_is_simulated(tmp_path):
    file = write_room_map(ROOM, tmp_path)
    header, size, _, pixels = (tmp_path / "room.pgm").read_bytes().split(b"\n", 3)
    columns, rows = map(int, size.split())
    assert header == b"P5" and f"resolution: {RESOLUTION_M}" in file.read_text()
    picture = np.frombuffer(pixels, dtype=np.uint8).reshape(rows, columns)
    robot_file, rng = load("phantomx"), np.random.default_rng(0)
    simulation = Simulation(robot_file.robot, urdf(robot_file), ROOM)
    half, taken = columns * RESOLUTION_M / 2.0, 0
    for x, y in rng.uniform(-2.4, 2.4, (150, 2)):
        free = picture[rows - 1 - int((y + half) / RESOLUTION_M), int((x + half) / RESOLUTION_M)] == FREE
        gap = distance_to_obstacles(simulation, x, y)
        assert free or gap <= 1.5 * RESOLUTION_M
        assert not free or gap > 0.0
        taken += not free
    assert taken > 3


def test_without_amcl_the_map_server_alone_is_started(tmp_path):
    room = write_room_map(ROOM, tmp_path)
    whole, fixed = (navigation({"map": room}, localize=localize) for localize in (True, False))
    assert {process.name for process in whole.processes} - {process.name for process in fixed.processes} == {"amcl"}
    managed = fixed.parameters["/lifecycle_manager_localization"]["ros__parameters"]["node_names"]
    assert managed == ["map_server"]
    assert whole.parameters["/amcl"]["ros__parameters"]["set_initial_pose"] is True


def test_a_missing_package_is_named():
    with pytest.raises(MissingNav2Error, match="nav2_controller is not installed: sudo apt install"):
        command_lines(nav2_graph.SERVERS, "nav2.yaml")


def test_without_nav2_the_command_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "nav2_msgs.action", None)
    assert main(["nav2-check"]) == 2
    assert "nav2_msgs is not installed: sudo apt install ros-" in capsys.readouterr().err


def test_reports_that_differ_only_in_numbers_are_one():
    reports = ReportCounter()
    for seconds in ("0.12", "0.34"):
        reports.take(
            f"[controller_server] [WARN] [1795875759.0088] [controller_server]: missed its rate by {seconds} s"
        )
    reports.take("[gait_planner] [INFO] [1795875759.01] [gait_planner]: stands")
    reports.take("[gait_planner] [ERROR] [1795875760.01] [gait_planner]: late")
    assert reports.counts == {"controller_server: missed its rate by N s": 2, "gait_planner: late": 1}
    assert len(reports.lines) == 4


def test_the_film_shows_the_goals_from_above_where_they_are(tmp_path):
    robot_file = load("phantomx")
    simulation = Simulation(robot_file.robot, urdf(robot_file), ROOM)
    recording = StateRecording(tmp_path / "run.npz", 25.0)
    for _ in range(3):
        recording.take(simulation, 0.0)
        simulation.data.time += 2.0 * PERIOD_S
    recording.save()
    film, goal = tmp_path / "run.gif", Pose(1.25, 1.25, 0.0)
    assert render(tmp_path / "run.npz", robot_file, ROOM, [goal], film) == 3
    with Image.open(film) as picture:
        width, height = picture.size
        side = ROOM.room_size + 2.0 * MARGIN_M
        x, y = round(width * (0.5 + goal.x / side)), round(height * (0.5 - goal.y / side))
        shown = picture.convert("RGB")
        red, green, _ = shown.getpixel((x, y))
        assert red > green + 60
        corners = [shown.getpixel((width // 2, row)) for row in (1, height - 2)]  # walls, which are dark
        assert max(map(max, corners)) < 150


@pytest.mark.waits
def test_a_lost_answer_of_the_lifecycle_manager_is_asked_for_again():
    """As measured: a server that does not know its client yet drops the answer, and Nav2 counted as not active."""
    asked = []

    async def answer(request, response):
        asked.append(request)
        if len(asked) == 1:
            await Future()
        response.success = True
        return response

    rclpy.init(args=[])
    try:
        walker = Nav2Walker({}, stamped=False, fixed_map=False)
        walker.create_service(Trigger, "manager/is_active", answer, callback_group=ReentrantCallbackGroup())
        assert walker.active("manager", 10.0) and len(asked) == 2
        walker.stop()
    finally:
        rclpy.try_shutdown()
