# SPDX-License-Identifier: Apache-2.0
"""`hexapod gaits`: the table and the picture match the robot."""

import pytest
from matplotlib.image import imread

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.workspace.capabilities import Capabilities


def test_every_gait_has_a_line_with_its_speeds_and_a_column_in_the_picture(tmp_path, capsys):
    picture = tmp_path / "gaits.png"
    assert main(["gaits", "--robot", "octopod", "--plot", str(picture)]) == 0
    head, *rows, auto, last = capsys.readouterr().out.splitlines()
    capabilities = Capabilities.of(load("octopod").robot)
    assert head.startswith("gait,duty factor,") and last == str(picture)
    assert auto == "auto: " + ", ".join(gait.name for gait in capabilities.selection("auto").gaits)
    assert [row.split(",")[0] for row in rows] == list(capabilities.gaits)
    for row, gait in zip(rows, capabilities.gaits.values(), strict=True):
        _, duty, cycle, margin, *speeds = row.split(",")
        assert float(duty) == pytest.approx(gait.duty_factor, abs=1e-3)
        assert float(cycle) == pytest.approx(0.45 / (1.0 - gait.duty_factor), abs=0.01)
        assert float(margin) > 0.0
        most = capabilities.envelope.maxima(gait, capabilities.robot.walk.height, capabilities.region_share(gait))
        assert [float(speed) for speed in speeds] == pytest.approx(list(most), abs=1e-3)
    height, width, _ = imread(picture).shape
    assert width == pytest.approx(110 * 2.9 * len(rows), abs=2) and height > 300


def test_a_picture_in_a_folder_that_is_not_there_is_refused(tmp_path, capsys):
    assert main(["gaits", "--plot", str(tmp_path / "none" / "gaits.png")]) == 2
    assert "its folder does not exist" in capsys.readouterr().err
