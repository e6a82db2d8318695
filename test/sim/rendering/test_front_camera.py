# SPDX-License-Identifier: Apache-2.0
"""The simulated front camera: looks ahead from the body, renders in its own thread, and names what is missing."""

import io
from queue import Queue

import numpy as np
import pytest
from PIL import Image

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.sim.rendering import front_camera
from hexapod_control.sim.rendering.front_camera import FrontCamera
from hexapod_control.sim.rendering.offscreen_camera import MissingGraphicsError
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

BOUND_S = 20.0


def standing(**world):
    robot_file = load("phantomx")
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings(**world))
    simulation.reset(standing_pose(robot_file.robot))
    return simulation


@pytest.mark.gl
def test_the_camera_shows_the_sky_over_the_ground_ahead_and_a_new_world():
    images = Queue()
    camera = FrontCamera((160, 120), lambda image, tag: images.put((image, tag)), images.put)
    shown = []
    for tag, simulation in enumerate((standing(), standing(world="slope", slope_deg=30.0))):
        camera.capture(simulation, tag)
        image, found = images.get(timeout=BOUND_S)
        assert found == tag
        shown.append(np.asarray(Image.open(io.BytesIO(image)).convert("L"), dtype=float))
    camera.close()
    flat, slope = shown
    assert flat.shape == (120, 160)
    squares = [np.abs(np.diff(rows, axis=1)).mean() for rows in (flat[:20], flat[60:])]
    assert squares[0] < 0.3 * squares[1]  # only the ground is a chequered pattern
    assert np.abs(flat[20:40] - slope[20:40]).mean() > 5.0


def test_missing_graphics_are_reported_once_and_the_simulation_goes_on(monkeypatch):
    def refuse(*given, **options):
        raise MissingGraphicsError("no picture can be rendered")

    monkeypatch.setattr(front_camera, "OffscreenCamera", refuse)
    reasons, simulation = Queue(), standing()
    camera = FrontCamera((160, 120), lambda image, tag: None, reasons.put)
    camera.capture(simulation, 0)
    assert reasons.get(timeout=BOUND_S) == "no picture can be rendered"
    camera.capture(simulation, 1)
    camera.close()
    assert reasons.empty()
