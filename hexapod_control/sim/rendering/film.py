# SPDX-License-Identifier: Apache-2.0
"""Renders a film of a simulation without a display: an animated GIF, or a PNG with several stills.

The camera follows the robot and looks at it from above, front left; planted feet are blue, feet in the air orange. The
stills of a PNG are rendered at its end, as only few of its frames are used.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.sim.rendering.offscreen_camera import FOOT_DOWN, FOOT_UP, MissingGraphicsError, OffscreenCamera
from hexapod_control.sim.rendering.state_recording import KEYS
from hexapod_control.sim.simulation import MIN_CONTACT_FORCE_N, Simulation

__all__ = ["Film", "MissingGraphicsError"]

SUFFIXES = (".gif", ".png")
MAX_STILLS = 6  # on a PNG sheet
SHEET_COLUMNS = 3
GAP_PX = 4  # between pictures
PALETTE_SIZE = 48
CAMERA_TIME_CONSTANT_S = 0.25  # low-pass filter of the camera that follows the robot
AZIMUTH_DEG = 150.0
ELEVATION_DEG = -27.0
FONT_SIZE_PX = 13
TEXT_COLOUR = (28, 32, 38)
BACKGROUND_COLOUR = (255, 255, 255)


class _Frame(NamedTuple):
    """All that one frame shows."""

    data: mujoco.MjData
    target: Array  # (3,) [m] to which the camera points
    forces: Array  # (n,) [N] of the feet
    text: str


class Film:
    """Collects frames of one simulation; `close` writes the file."""

    def __init__(
        self,
        simulation: Simulation,
        path: Path | str,
        fps: float = 10.0,
        size: tuple[int, int] = (480, 300),
        speed: float = 1.0,
        azimuth: float = AZIMUTH_DEG,
    ) -> None:
        """`fps` in frames per second of simulated time, `size` in pixels.

        `speed` is that of a GIF over real time, `azimuth` [deg] the direction in which the camera looks, from x.

        Raises ValueError for a file type that is neither GIF nor PNG, MissingGraphicsError if nothing can be rendered.
        """
        self.path = Path(path)
        if self.path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"{self.path}: a film is one of {', '.join(SUFFIXES)}")
        self.period = 1.0 / fps
        self._simulation = simulation
        self._speed = speed
        self._camera = OffscreenCamera(simulation.model, *size)
        self._feet = _foot_geoms(simulation)
        self._font = ImageFont.load_default(FONT_SIZE_PX)
        self._palette: Image.Image | None = None
        self._pictures: list[Image.Image] = []  # of a GIF
        self._frames: list[_Frame] = []  # of a PNG
        self._times: list[float] = []  # [s] of the frames
        self._stride = 1
        self._count = 0
        self._last = -math.inf
        self._set_up_view(azimuth)

    @property
    def due(self) -> bool:
        """True if it is time for the next frame."""
        return self._simulation.time >= self._last + self.period - 1e-9

    def frame(self, caption: str = "") -> None:
        """Adds a frame of the present state, with time and caption in its lower left corner."""
        self._follow_robot()
        self._last = self._simulation.time
        if self._is_skipped():
            return
        simulation = self._simulation
        target = self._camera.view.lookat.copy()
        text = f"{simulation.time:5.1f} s   {caption}"
        frame = _Frame(simulation.data, target, simulation.foot_forces, text)
        if not self._is_sheet:
            self._pictures.append(self._reduced(self._picture(frame)))
            self._times.append(simulation.time)
            return
        self._frames.append(frame._replace(data=copy.copy(simulation.data)))
        if len(self._frames) >= 2 * MAX_STILLS:
            self._frames = self._frames[::2]
            self._stride = 2 * self._stride

    def close(self) -> None:
        """Writes the file, unless there are no frames."""
        if self._frames:
            _sheet([self._picture(frame) for frame in _stills(self._frames)]).save(self.path, optimize=True)
        self._camera.close()
        if not self._pictures:
            return
        first, *rest = self._pictures
        first.save(
            self.path,
            save_all=True,
            append_images=rest,
            duration=_durations([time / self._speed for time in (*self._times, self._times[-1] + self.period)]),
            loop=0,
            optimize=False,
            disposal=1,
        )

    @property
    def _is_sheet(self) -> bool:
        return self.path.suffix.lower() == ".png"

    def _is_skipped(self) -> bool:
        """A PNG keeps only every 2^k-th frame, so that a run of any length fits into memory."""
        self._count += 1
        return self._is_sheet and (self._count - 1) % self._stride != 0

    def _target(self) -> Array:
        x, y, z = self._simulation.data.qpos[:3]
        return np.array([x, y, z - 0.55 * self._simulation.robot.walk.height])

    def _set_up_view(self, azimuth: float) -> None:
        robot = self._simulation.robot
        reach = max(math.hypot(*leg.foothold) for leg in robot.legs)
        view = self._camera.view
        view.azimuth = azimuth
        view.elevation = ELEVATION_DEG
        view.distance = 2.8 * reach
        view.lookat[:] = self._target()

    def _follow_robot(self) -> None:
        passed = min(self._simulation.time - self._last, 10.0)
        view = self._camera.view
        view.lookat[:] += (self._target() - view.lookat) * -math.expm1(-passed / CAMERA_TIME_CONSTANT_S)

    def _picture(self, frame: _Frame) -> Image.Image:
        self._camera.view.lookat[:] = frame.target
        _colour_feet(self._simulation, self._feet, frame.forces)
        picture = Image.fromarray(self._camera.capture(frame.data))
        self._write(picture, frame.text)
        return picture

    def _write(self, picture: Image.Image, text: str) -> None:
        draw = ImageDraw.Draw(picture)
        height = FONT_SIZE_PX + 10
        top = picture.height - height
        draw.rectangle((0, top, draw.textlength(text, font=self._font) + 16, picture.height), fill=BACKGROUND_COLOUR)
        draw.text((8, top + height / 2), text, fill=TEXT_COLOUR, font=self._font, anchor="lm")

    def _reduced(self, picture: Image.Image) -> Image.Image:
        """Reduces a frame to the palette of the film, made from its first frame and the colours of the feet."""
        if self._palette is None:
            self._palette = _with_foot_colours(picture).quantize(PALETTE_SIZE, method=Image.Quantize.FASTOCTREE)
        return picture.quantize(palette=self._palette, dither=Image.Dither.NONE)


def _durations(times: list[float]) -> list[int]:
    """How long each frame is shown [ms], until the next one; GIF counts hundredths of a second."""
    return [10 * each for each in np.diff(np.round(100.0 * np.array(times)).astype(int)).tolist()]


def _with_foot_colours(picture: Image.Image) -> Image.Image:
    """Adds the colours of the feet, in light and in shade, below a picture."""
    wide = Image.new("RGB", (picture.width, picture.height + 40))
    wide.paste(picture)
    draw = ImageDraw.Draw(wide)
    for row, colour in enumerate((FOOT_DOWN, FOOT_UP)):
        for column in range(4):
            share = 255.0 * (0.55 + 0.15 * column)
            fill = tuple(min(255, round(share * part)) for part in colour[:3])
            left = column * picture.width // 4
            top = picture.height + 20 * row
            draw.rectangle((left, top, left + picture.width // 4, top + 20), fill=fill)
    return wide


def _foot_geoms(simulation: Simulation) -> list[list[int]]:
    """The geoms of each foot."""
    model = simulation.model
    return [[g for g in range(model.ngeom) if model.geom_bodyid[g] == body] for body in simulation.world.feet]


def _colour_feet(simulation: Simulation, feet: list[list[int]], forces: Array) -> None:
    for geoms, force in zip(feet, forces, strict=True):
        simulation.model.geom_matid[geoms] = -1
        simulation.model.geom_rgba[geoms] = FOOT_DOWN if force > MIN_CONTACT_FORCE_N else FOOT_UP


def _stills(frames: list[_Frame]) -> list[_Frame]:
    """At most MAX_STILLS frames, evenly distributed over the run."""
    return [frames[i] for i in np.linspace(0, len(frames) - 1, min(MAX_STILLS, len(frames))).round().astype(int)]


def _sheet(stills: list[Image.Image]) -> Image.Image:
    """Arranges pictures in rows."""
    columns = min(SHEET_COLUMNS, len(stills))
    width, height = stills[0].size
    rows = math.ceil(len(stills) / columns)
    sheet = Image.new(
        "RGB", (columns * (width + GAP_PX) - GAP_PX, rows * (height + GAP_PX) - GAP_PX), BACKGROUND_COLOUR
    )
    for index, still in enumerate(stills):
        sheet.paste(still, ((index % columns) * (width + GAP_PX), (index // columns) * (height + GAP_PX)))
    return sheet


def render_recording(recording: Path, simulation: Simulation, film: Path, caption: Callable[[float], str]) -> int:
    """Renders the recorded states of a simulation; `caption` of the time of a state. Returns the number of frames.

    Raises ValueError for a file type that is no film, MissingGraphicsError if nothing can be drawn, OSError.
    """
    picture = Film(simulation, film)
    count = 0
    with np.load(recording) as frames:
        for time, stamp, qpos, qvel, ctrl in zip(*(frames[key] for key in KEYS), strict=True):
            data = simulation.data
            data.time = time
            data.qpos[:] = qpos
            data.qvel[:] = qvel
            data.ctrl[:] = ctrl
            mujoco.mj_forward(simulation.model, data)
            if picture.due:
                picture.frame(caption(float(stamp)))
                count += 1
    picture.close()
    return count
