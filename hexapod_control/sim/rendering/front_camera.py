# SPDX-License-Identifier: Apache-2.0
"""The simulated camera at the front of the body: renders in a thread of its own, so that the physics does not wait."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
from PIL import Image

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.sim.mujoco_model import FRONT_CAMERA
from hexapod_control.sim.rendering.offscreen_camera import MissingGraphicsError, OffscreenCamera
from hexapod_control.sim.simulation import Simulation

JPEG_QUALITY = 80
MAX_END_S = 2.0


@dataclass(frozen=True, slots=True)
class _View:
    """A state to render; `tag` is returned with its image."""

    model: mujoco.MjModel
    pose: Array
    tag: Any


class FrontCamera:
    """Calls `take` with every JPEG image and its tag, or `failed` once with a reason, in its own thread."""

    def __init__(
        self, size: tuple[int, int], take: Callable[[bytes, Any], None], failed: Callable[[str], None]
    ) -> None:
        """`size` in pixels. The thread and the graphics start with the first image."""
        self._size = size
        self._take = take
        self._failed = failed
        self._changed = threading.Condition()
        self._next: _View | None = None
        self._ended = False
        self._thread: threading.Thread | None = None
        self._camera: OffscreenCamera | None = None
        self._data: mujoco.MjData | None = None

    def capture(self, simulation: Simulation, tag: Any) -> None:
        """Queues the present state for rendering; it replaces a state that is still queued."""
        with self._changed:
            self._next = _View(simulation.model, simulation.data.qpos.copy(), tag)
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="front camera", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(MAX_END_S)

    # --- the thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        model: mujoco.MjModel | None = None
        try:
            while (view := self._wait()) is not None:
                if view.model is not model:
                    model = view.model
                    self._open(model)
                self._take(self._image(view), view.tag)
        except MissingGraphicsError as error:
            self._failed(str(error))
        finally:
            self._release()

    def _wait(self) -> _View | None:
        """The next state; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._next is not None)
            view = self._next
            self._next = None
            return None if self._ended else view

    def _open(self, model: mujoco.MjModel) -> None:
        self._release()
        self._camera = OffscreenCamera(model, *self._size, shadows=False)
        self._data = mujoco.MjData(model)
        self._camera.view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.view.fixedcamid = model.camera(FRONT_CAMERA).id

    def _image(self, view: _View) -> bytes:
        assert self._camera is not None and self._data is not None
        self._data.qpos[:] = view.pose
        for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight):
            compute(view.model, self._data)
        file = io.BytesIO()
        Image.fromarray(self._camera.capture(self._data)).save(file, "JPEG", quality=JPEG_QUALITY)
        return file.getvalue()

    def _release(self) -> None:
        if self._camera is not None:
            self._camera.close()
            self._camera = None
