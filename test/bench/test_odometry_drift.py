# SPDX-License-Identifier: Apache-2.0
"""Odometry in physics: its drift on three grounds, and whether its covariance agrees."""

import math
from dataclasses import replace
from functools import cache

import flat_ground
import numpy as np
import pytest
from odometry_drift import DRIVES, GROUNDS, MODES, WINDOW_S, drift, jobs, main, random_drive
from support.drives import robot_and_urdf
from support.suite.soak import SOAK

from hexapod_control.cli.sim.simulation_run import MIN_SEGMENT_S, SCRIPT
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.reality import TYPICAL
from hexapod_control.evaluation.lockstep import standing_lockstep
from hexapod_control.sim.simulation import HEADING_DRIFT
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

SEEDS = range(20) if SOAK else (9,)
DRIVE_S = 60.0 if SOAK else 40.0
LIMITS = {"flat": (0.01, 1.0), "blocks 1 cm": (0.03, 2.0), "friction 0.5": (0.03, 2.0)}  # of the way, [deg/m]
ERRORS = ("legs", "legs_imu")  # modes whose covariance describes their errors
LEGS_ALONE = flat_ground.MAX_DRIFT_SHARE, math.degrees(flat_ground.MAX_HEADING_DRIFT_RAD_M)
RANDOM = {f"random {seed}": random_drive(seed, DRIVE_S) for seed in SEEDS}
TWO_ARCS = ((Twist(0.1, 0.0, 0.3), 12.0), (Twist(0.1, 0.0, -0.3), 12.0))
KNOWN = {**DRIVES, **RANDOM, "two arcs": TWO_ARCS}
SLICE = [("flat", next(iter(RANDOM))), ("blocks 1 cm", "two arcs")]
CASES = [(ground, drive) for ground in GROUNDS for drive in DRIVES] if SOAK else SLICE


@cache
def measured_drift(ground, drive, modes, seed):
    """The drift on a ground with this seed; the tests share what takes most of a minute of simulated time."""
    world = replace(GROUNDS[ground], seed=seed)
    return drift(standing_lockstep(*robot_and_urdf(), world), KNOWN[drive], modes, seed)


@pytest.mark.parametrize(("ground", "drive"), CASES)
def test_soak_of_odometry_staying_with_the_robot(ground, drive):
    """Legs and IMU on every ground; on flat ground also legs only, with planned contacts."""
    limits = {"legs_imu": LIMITS[ground]} | ({"planned": LEGS_ALONE} if ground == "flat" else {})
    found = measured_drift(ground, drive, MODES if ground == "flat" else tuple(limits), SEEDS[0])
    for mode, (share, degrees) in limits.items():
        assert found[mode].distance > 4.0
        assert found[mode].share <= share, mode
        assert math.degrees(found[mode].heading_per_metre) <= degrees, mode


@pytest.mark.parametrize("ground", GROUNDS if SOAK else ["flat"])
def test_soak_of_the_covariance_describing_the_errors_of_ten_second_windows(ground):
    """Mean normalised error squared per degree of freedom between 0.5 and 2 (a slice of it: between 0.3 and 3)."""
    drives = [
        measured_drift(ground, drive, MODES if ground == "flat" else ERRORS, seed)
        for seed, drive in zip(SEEDS, RANDOM, strict=True)
    ]
    least, most = (0.5, 2.0) if SOAK else (0.3, 3.0)
    for mode in ERRORS:
        squared = [square for drifts in drives for square in drifts[mode].windows]
        assert len(squared) == DRIVE_S // WINDOW_S * len(SEEDS)
        assert least <= float(np.mean(squared)) <= most


@pytest.mark.parametrize("seed", range(10) if SOAK else (0, 1))
def test_a_robot_built_by_hand_keeps_its_heading_in_the_demonstration(seed):
    """By an IMU, within three standard deviations of what its heading drifts: wrong zeros turn the feet's heading."""
    world = WorldSettings(reality=TYPICAL, reality_seed=seed)
    script = tuple((segment.twist, MIN_SEGMENT_S) for segment in SCRIPT)
    found = drift(standing_lockstep(*robot_and_urdf(), world), script, ["legs_imu"], seed)
    seconds = len(SCRIPT) * MIN_SEGMENT_S
    assert found["legs_imu"].heading <= 3.0 * HEADING_DRIFT * math.sqrt(seconds)


def test_the_table_has_a_line_per_drive_and_mode(monkeypatch, capsys):
    import odometry_drift as module

    short = {"straight": DRIVES["straight"][:1]}
    monkeypatch.setattr(module, "DRIVES", {name: ((drive[0][0], 10.0),) for name, drive in short.items()})
    monkeypatch.setattr(module, "GROUNDS", {"flat": GROUNDS["flat"]})
    assert [job.name for job in jobs("phantomx", 2)] == ["straight", "random 0", "random 1"]
    assert main(["--seeds", "0", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["planned", "legs", "legs_imu"]
    assert all(0.9 < float(line.split()[3]) < 1.1 for line in lines[1:])  # [m] of the truth
