# SPDX-License-Identifier: Apache-2.0
"""Renders a simulated world without a window or a display.

It creates its own GL context: mujoco.Renderer chooses its backend when mujoco is imported, so that without OpenGL even
the physics would fail once MUJOCO_GL is set.
"""

from __future__ import annotations

import os
import platform
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

REMEDY = (
    "install libegl1 libopengl0 libgl1-mesa-dri (Debian, Ubuntu) and PyOpenGL, or libosmesa6 and set MUJOCO_GL=osmesa"
)
FOOT_DOWN = (0.10, 0.62, 0.95, 1.0)
FOOT_UP = (0.98, 0.55, 0.10, 1.0)
DRAWN_GROUPS = (1, 2)  # geom groups: visual shapes of links, ground


class MissingGraphicsError(RuntimeError):
    """OpenGL is missing; the message says which packages to install."""


def _gl_context(width: int, height: int) -> Any:
    """Creates a GL context and makes it current. `Any`: MuJoCo's context classes have no common base."""
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
    except Exception as error:  # backends raise different errors: ImportError, AttributeError, GLError, RuntimeError
        reason = " ".join(str(error).split()) or type(error).__name__
        text = f"no picture can be rendered ({backend or 'system'} GL: {reason}); {REMEDY}"
        raise MissingGraphicsError(text) from error
    return context


class OffscreenCamera:
    """Renders a world into arrays (height, width, 3); call `close` at the end."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int, *, shadows: bool = True) -> None:
        """`width` and `height` in pixels. Raises MissingGraphicsError."""
        self._gl = _gl_context(width, height)
        self._model = model
        self._scene = mujoco.MjvScene(model, maxgeom=20_000)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = [group in DRAWN_GROUPS for group in range(len(self._option.geomgroup))]
        self._option.flags[mujoco.mjtVisFlag.mjVIS_STATIC] = True
        self.view = mujoco.MjvCamera()
        self.view.type = mujoco.mjtCamera.mjCAMERA_FREE
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._area = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.empty((height, width, 3), dtype=np.uint8)

    def capture(self, data: mujoco.MjData) -> NDArray[np.uint8]:
        """Renders the present state from `view`. Returns a new array."""
        self._gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, data, self._option, None, self.view, everything, self._scene)
        mujoco.mjr_render(self._area, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._area, self._context)
        return np.flipud(self._pixels).copy()

    def close(self) -> None:
        """Frees the graphics memory."""
        if self._gl is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None
