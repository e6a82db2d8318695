# SPDX-License-Identifier: Apache-2.0
"""Films of a run, drawn without a display."""

import sys

import pytest
from PIL import Image

from hexapod_control.sim.rendering.film import Film, MissingGraphicsError
from hexapod_control.sim.rendering.offscreen_camera import REMEDY
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = [pytest.mark.physics, pytest.mark.gl]


@pytest.fixture
def simulation(phantomx):
    return Simulation(*phantomx, WorldSettings())


def record(film, simulation, seconds):
    for _ in range(round(seconds / 0.02)):
        if film.due:
            film.frame("forward")
        simulation.step(standing_pose(simulation.robot), 0.02)
    film.close()


def test_a_gif_has_a_frame_for_every_period_of_simulated_time_and_plays_at_its_speed(simulation, tmp_path):
    """Also at a rate that is no multiple of the ticks, whose frames are not equally far apart."""
    path, starts = tmp_path / "run.gif", []
    film = Film(simulation, path, fps=8.0, size=(64, 48))
    for _ in range(25):
        if film.due:
            film.frame(f"{len(starts)}")
            starts.append(simulation.time)
        simulation.step(standing_pose(simulation.robot), 0.02)
    film.close()
    with Image.open(path) as picture:
        assert (picture.size, picture.n_frames, picture.info["loop"]) == ((64, 48), 4, 0)
        shown = [0.0]
        for frame in range(picture.n_frames):
            picture.seek(frame)
            shown.append(shown[-1] + 1e-3 * picture.info["duration"])
    assert shown[:-1] == pytest.approx([start - starts[0] for start in starts], abs=0.01)


def test_a_png_is_one_sheet_of_at_most_six_stills(simulation, tmp_path):
    path = tmp_path / "run.png"
    record(Film(simulation, path, fps=10.0, size=(80, 60)), simulation, 1.3)
    with Image.open(path) as picture:
        assert picture.size == (3 * 84 - 4, 2 * 64 - 4)
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 50


def test_the_robot_is_in_the_middle_of_the_picture(simulation, tmp_path):
    path = tmp_path / "still.png"
    film = Film(simulation, path, size=(160, 120))
    film.frame()
    film.close()
    with Image.open(path) as picture:
        middle = picture.convert("L").crop((60, 40, 100, 70))
        edge = picture.convert("L").crop((0, 0, 160, 15))
        assert min(middle.tobytes()) < 60 < min(edge.tobytes())


def test_an_unknown_kind_of_film_is_refused_with_the_known_ones(simulation, tmp_path):
    with pytest.raises(ValueError, match=r"\.gif, \.png"):
        Film(simulation, tmp_path / "run.mp4")


def test_without_gl_the_message_names_the_packages_to_install(simulation, tmp_path, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)
    with pytest.raises(MissingGraphicsError) as caught:
        Film(simulation, tmp_path / "run.gif")
    assert REMEDY in str(caught.value)
