# SPDX-License-Identifier: Apache-2.0
"""`hexapod camera-calibrate` with a running robot, whose camera is not mounted as the robot file says."""

from pathlib import Path

import numpy as np
import pytest

from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.bringup.shared_process import merged
from hexapod_control.cli.main import main, parser
from hexapod_control.cli.sim.simulation_run import SimulationRun
from hexapod_control.config.errors import FAILED, INVALID_INPUT
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.sim.world_settings import WorldSettings

SECTION = """
cameras:
  camera:
    position: {position}  # of the lens
    rpy_deg: {angles}
"""
TRUE = (0.12, 0.0, 0.125), (1.5, 46.0, -1.0)
BY_HAND = (0.125, 0.0, 0.13), (0.0, 50.0, 0.0)


def with_camera(path, position, angles):
    text = SECTION.format(position=list(position), angles=list(angles))
    path.write_text(Path(load("phantomx").path).read_text() + text)
    return path


@pytest.mark.heavy
@pytest.mark.physics
def test_the_mounting_is_measured_over_the_running_graph(tmp_path, capsys):
    robot = load(with_camera(tmp_path / "true.yaml", *TRUE))
    by_hand = with_camera(tmp_path / "by_hand.yaml", *BY_HAND)
    args = parser("sim").parse_args(["sim", "--robot", str(robot.path), "--namespace", "a", "--no-web"])
    run = SimulationRun(args, robot, gaits(robot.robot)["tripod"], WorldSettings(reality="ideal"), {})
    lines = []
    with Supervisor((merged(run.specs(tmp_path)),), lines.append):
        code = main(["camera-calibrate", "--robot", str(by_hand), "--namespace", "a"])
    said = capsys.readouterr()
    assert code == 0, (said, lines[-5:])
    camera = load(by_hand).robot.cameras[0]
    np.testing.assert_allclose(np.degrees(camera.rpy), TRUE[1], atol=0.5)
    assert camera.position[2] == pytest.approx(TRUE[0][2], abs=0.001)
    assert "# of the lens" in by_hand.read_text()
    assert len(list(tmp_path.glob("by_hand.yaml.*.bak"))) == 1


@pytest.mark.waits
def test_without_a_robot_nothing_is_written(tmp_path, capsys, monkeypatch):
    file = with_camera(tmp_path / "mine.yaml", *BY_HAND)
    before = file.read_text()
    monkeypatch.setattr("hexapod_control.clients.camera_survey.READY_S", 0.5)
    assert main(["camera-calibrate", "--robot", str(file), "--namespace", "nobody"]) == FAILED
    assert "the robot is not ready" in capsys.readouterr().err
    assert file.read_text() == before


@pytest.mark.parametrize(("extra", "text"), [("", "has no section cameras"), ("other", "must be one of camera, is")])
def test_a_camera_that_the_file_has_not_is_refused(extra, text, tmp_path, capsys):
    file = with_camera(tmp_path / "mine.yaml", *BY_HAND)
    if not extra:
        file.write_text(Path(load("phantomx").path).read_text())
    assert main(["camera-calibrate", "--robot", str(file), "--camera", extra]) == INVALID_INPUT
    assert text in capsys.readouterr().err
