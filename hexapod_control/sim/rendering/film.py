"""A film of a run: an animated GIF, or a PNG sheet of stills, drawn without a display.

The camera looks at the robot from the front left, above, and follows it; planted feet are blue, feet in
the air orange.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.sim.rendering.offscreen_camera import FOOT_DOWN, FOOT_UP, NoGraphics, OffscreenCamera
from hexapod_control.sim.simulation import LOADED, Simulation

__all__ = ["Film", "NoGraphics"]

SUFFIXES = (".gif", ".png")
STILLS = 6  # pictures of a PNG
COLUMNS = 3
GAP = 4  # [px] between pictures
COLOURS = 48
FOLLOW = 0.25  # [s] time constant with which the camera follows
AZIMUTH, ELEVATION = 150.0, -27.0  # [deg]
FONT_SIZE = 13  # [px]
INK = (28, 32, 38)
PAPER = (255, 255, 255)


class Film:
    """Frames of one simulation, written to a file by `close`."""

    def __init__(
        self, simulation: Simulation, path: Path | str, fps: float = 10.0, size: tuple[int, int] = (480, 300)
    ) -> None:
        """`fps` frames per second of simulated time, `size` in pixels.

        Raises ValueError for a file type that is neither GIF nor PNG, NoGraphics if nothing can be drawn.
        """
        self.path = Path(path)
        if self.path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"{self.path}: a film is one of {', '.join(SUFFIXES)}")
        self.period = 1.0 / fps
        self._simulation = simulation
        self._camera = OffscreenCamera(simulation.model, *size)
        self._feet = _pictures_of_feet(simulation)
        self._font = ImageFont.load_default(FONT_SIZE)
        self._palette: Image.Image | None = None
        self._frames: list[Image.Image] = []
        self._stride, self._count = 1, 0
        self._last = -math.inf
        self._aim()

    @property
    def due(self) -> bool:
        """True once the time of the next frame has come."""
        return self._simulation.time >= self._last + self.period - 1e-9

    def frame(self, caption: str = "") -> None:
        """Take a picture of the present; `caption` stands in its lower left corner, after the time."""
        self._follow()
        self._last = self._simulation.time
        if self._still_skipped():
            return
        _colour_feet(self._simulation, self._feet)
        picture = Image.fromarray(self._camera.shoot(self._simulation.data))
        self._write(picture, f"{self._simulation.time:5.1f} s   {caption}")
        self._frames.append(picture if self._is_sheet else self._reduced(picture))
        if self._is_sheet and len(self._frames) >= 2 * STILLS:
            self._frames, self._stride = self._frames[::2], 2 * self._stride

    def close(self) -> None:
        """Write the file; without any frame there is none."""
        self._camera.close()
        if not self._frames:
            return
        if self._is_sheet:
            _sheet(self._frames).save(self.path, optimize=True)
            return
        first, *rest = self._frames
        first.save(
            self.path,
            save_all=True,
            append_images=rest,
            duration=round(1000.0 * self.period / 10.0) * 10,  # GIF counts hundredths of a second
            loop=0,
            optimize=False,
            disposal=1,
        )

    @property
    def _is_sheet(self) -> bool:
        return self.path.suffix.lower() == ".png"

    def _still_skipped(self) -> bool:
        """A sheet keeps only every 2^k-th frame, so that any length of run fits into memory."""
        self._count += 1
        return self._is_sheet and (self._count - 1) % self._stride != 0

    def _target(self) -> Array:
        x, y, z = self._simulation.data.qpos[:3]
        return np.array([x, y, 0.45 * z])

    def _aim(self) -> None:
        robot = self._simulation.robot
        reach = max(math.hypot(*leg.foothold) for leg in robot.legs)
        view = self._camera.view
        view.azimuth, view.elevation, view.distance = AZIMUTH, ELEVATION, 2.8 * reach
        view.lookat[:] = self._target()

    def _follow(self) -> None:
        passed = min(self._simulation.time - self._last, 10.0)
        view = self._camera.view
        view.lookat[:] += (self._target() - view.lookat) * -math.expm1(-passed / FOLLOW)

    def _write(self, picture: Image.Image, text: str) -> None:
        draw = ImageDraw.Draw(picture)
        height = FONT_SIZE + 10
        top = picture.height - height
        draw.rectangle((0, top, draw.textlength(text, font=self._font) + 16, picture.height), fill=PAPER)
        draw.text((8, top + height / 2), text, fill=INK, font=self._font, anchor="lm")

    def _reduced(self, picture: Image.Image) -> Image.Image:
        """One palette for the whole film, made from its first frame and the colours of the feet."""
        if self._palette is None:
            self._palette = _swatched(picture).quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
        return picture.quantize(palette=self._palette, dither=Image.Dither.NONE)


def _swatched(picture: Image.Image) -> Image.Image:
    """The picture with the colours of the feet, in light and shade, added below."""
    wide = Image.new("RGB", (picture.width, picture.height + 40))
    wide.paste(picture)
    draw = ImageDraw.Draw(wide)
    for row, colour in enumerate((FOOT_DOWN, FOOT_UP)):
        for column in range(4):
            share = 255.0 * (0.55 + 0.15 * column)
            fill = tuple(min(255, round(share * part)) for part in colour[:3])
            left, top = column * picture.width // 4, picture.height + 20 * row
            draw.rectangle((left, top, left + picture.width // 4, top + 20), fill=fill)
    return wide


def _pictures_of_feet(simulation: Simulation) -> list[list[int]]:
    """Per foot the geoms that are drawn."""
    model = simulation.model
    return [[g for g in range(model.ngeom) if model.geom_bodyid[g] == body] for body in simulation.world.feet]


def _colour_feet(simulation: Simulation, feet: list[list[int]]) -> None:
    for geoms, force in zip(feet, simulation.foot_forces, strict=True):
        simulation.model.geom_matid[geoms] = -1
        simulation.model.geom_rgba[geoms] = FOOT_DOWN if force > LOADED else FOOT_UP


def _sheet(frames: list[Image.Image]) -> Image.Image:
    """At most STILLS pictures, evenly chosen, in rows."""
    chosen = [frames[i] for i in np.linspace(0, len(frames) - 1, min(STILLS, len(frames))).round().astype(int)]
    columns = min(COLUMNS, len(chosen))
    width, height = chosen[0].size
    rows = math.ceil(len(chosen) / columns)
    sheet = Image.new("RGB", (columns * (width + GAP) - GAP, rows * (height + GAP) - GAP), PAPER)
    for index, frame in enumerate(chosen):
        sheet.paste(frame, ((index % columns) * (width + GAP), (index // columns) * (height + GAP)))
    return sheet
