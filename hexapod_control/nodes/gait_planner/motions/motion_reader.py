"""Parses motion files in a thread, so that a long text does not delay the control loop."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from hexapod_control.config.motions.motion_library import load_motion_text
from hexapod_control.core.motions.motion_request import MotionRequest
from hexapod_control.core.motions.motion_steps import Choreography
from hexapod_control.core.robot import Robot


class MotionReader:
    """Parses one motion at a time in a thread; a newer request replaces a waiting one."""

    def __init__(self, robot: Robot) -> None:
        """The thread starts with the first request."""
        self._robot = robot
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="motion_reader")
        self._reading: Future[Choreography] | None = None  # for the newest request

    def read(self, request: MotionRequest) -> None:
        """Starts to parse a motion; results of earlier requests are dropped."""
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self._pool.submit(load_motion_text, request.file, request.text, self._robot)

    def take(self) -> Choreography | None:
        """Returns the motion once when it is parsed, else None. Raises MotionFileError once if it is invalid."""
        if self._reading is None or not self._reading.done():
            return None
        done, self._reading = self._reading, None
        return done.result()
