# SPDX-License-Identifier: Apache-2.0
"""`hexapod calibrate-self` in a terminal, with the nodes of a robot over DDS and an emulated bus, until undo.

What it finds is tested in `test/core/calibration`, and in physics by `bench/self_calibration.py`: this tour is short.
"""

import re
from functools import partial

import numpy as np
import pytest

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.calibration import pose_recording
from hexapod_control.servos.calibration import self_calibration
from hexapod_control.servos.emulated_robot.robot_emulator import emulate
from hexapod_control.servos.settings.servo_section import servo_settings


@pytest.fixture
def short(monkeypatch):
    """One tour through a few poses, after which everything counts as known."""
    known = dict.fromkeys(("GOOD_ZERO", "GOOD_LENGTH", "MAX_DEVIATION"), 1.0)
    for name, value in {"POSES": 2, "SHORT_TOURS": 0, **known}.items():
        monkeypatch.setattr(self_calibration, name, value)
    monkeypatch.setattr(pose_recording, "SETTLE_S", 0.4)


@pytest.fixture
def typed(type_into):
    """Runs the command with lines on its standard input."""
    return partial(type_into, "calibrate-self")


@pytest.mark.process
def test_a_robot_stands_up_measures_itself_sits_and_its_file_is_written_and_put_back(tmp_path, short, typed, capsys):
    own = tmp_path / "mine.yaml"
    own.write_text(resolve("phantomx").read_text())
    before = own.read_text()
    file, link = load(own), tmp_path / "bus"
    emulation = emulate(file.robot, servo_settings(file, "feetech_st", str(link)), link)
    places = []
    emulation.world.weighed = lambda dt: places.append(emulation.world.support.forces.sum())
    try:
        assert typed(["", "y", "y"], str(own), "--protocol", "feetech_st", "--port", str(link)) == 0
    finally:
        emulation.pty.close()
    shown = capsys.readouterr()
    assert re.search(r"\b(\d+) of \1 poses", shown.err), shown.err
    assert "Where the feet were" in shown.out and "zeros corrected by" in shown.out
    assert max(places) > 0.9 * 9.81 * file.robot.mass and not emulation.world.torques.any()
    written = servo_settings(load(own))
    assert written.protocol == "feetech_st" and written.port == str(link)
    assert np.abs(np.degrees([joint.trim for joint in written.joints])).max() < 2.0
    assert typed([], str(own), "--undo") == 0
    assert own.read_text() == before and "as before the self-calibration" in capsys.readouterr().out
