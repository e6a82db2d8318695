"""Pictures of a simulated world without a window or a display.

An own GL context instead of mujoco.Renderer: that one chooses its backend when mujoco is imported, so a
machine without GL could not even run the physics with MUJOCO_GL set.
"""

from __future__ import annotations

import os
import platform
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

CURE = (
    "install libegl1 libopengl0 libgl1-mesa-dri (Debian, Ubuntu) and PyOpenGL, or libosmesa6 and set MUJOCO_GL=osmesa"
)
FOOT_DOWN = (0.10, 0.62, 0.95, 1.0)
FOOT_UP = (0.98, 0.55, 0.10, 1.0)
SHOWN = (1, 2)  # geom groups: pictures of links, ground


class NoGraphics(RuntimeError):  # noqa: N818 - what is the matter, not that something is
    """Nothing can be drawn on this machine; the message says what to install."""


def _gl_context(width: int, height: int) -> Any:
    backend = os.environ.get("MUJOCO_GL", "").lower() or ("egl" if platform.system() == "Linux" else "")
    try:
        if backend == "egl":
            from mujoco.egl import GLContext
        elif backend == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.gl_context import GLContext
        context = GLContext(width, height)
        context.make_current()
    except Exception as error:  # each backend fails in its own way: ImportError, AttributeError, GLError, RuntimeError
        reason = " ".join(str(error).split()) or type(error).__name__
        raise NoGraphics(f"no picture can be drawn ({backend or 'system'} GL: {reason}); {CURE}") from error
    return context


class OffscreenCamera:
    """Draws a world into arrays (height, width, 3); `close` it when done."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        """Raises NoGraphics, with the cure, if this machine cannot draw."""
        self._gl = _gl_context(width, height)
        self._model = model
        self._scene = mujoco.MjvScene(model, maxgeom=20_000)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = True
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = [group in SHOWN for group in range(len(self._option.geomgroup))]
        self._option.flags[mujoco.mjtVisFlag.mjVIS_STATIC] = True
        self.view = mujoco.MjvCamera()
        self.view.type = mujoco.mjtCamera.mjCAMERA_FREE
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._area = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.empty((height, width, 3), dtype=np.uint8)

    def shoot(self, data: mujoco.MjData) -> NDArray[np.uint8]:
        """The world as `view` sees it now; a copy."""
        self._gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, data, self._option, None, self.view, everything, self._scene)
        mujoco.mjr_render(self._area, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._area, self._context)
        return np.flipud(self._pixels).copy()

    def close(self) -> None:
        """Give graphics memory back."""
        if self._gl is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None
