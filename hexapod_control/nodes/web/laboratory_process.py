# SPDX-License-Identifier: Apache-2.0
"""The process of the gait laboratory: started by the first request, it ends by itself after a time without requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import IO, Any

from hexapod_control.core.refusal import Refusal
from hexapod_control.web.protocol import LaboratoryMessage

PROGRAM = "hexapod_control.evaluation.laboratory"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # the other cores are for the robot
LOW_PRIORITY = 10  # niceness of the process beside the control of a real robot
ENDED = Refusal("ended", "the laboratory has ended: try again")
MAX_END_S = 1.0  # time limit for the process to end


class LaboratoryProcess:
    """Passes requests of pages on to the process, and its answers to the pages."""

    def __init__(
        self,
        robot: str,
        send: Callable[[int, str, Mapping[str, Any]], None],
        saved: Callable[[int], None],
        simulated: Callable[[], bool],
    ) -> None:
        """`robot` is a name or a path; `send(client, kind, fields)` sends a message to a page.

        `saved` is called with the page that has saved a gait in that robot file. Any thread may call both. Unless the
        robot is `simulated`, the process has a low priority.
        """
        self._robot = robot
        self._send = send
        self._saved = saved
        self._simulated = simulated
        self._process: subprocess.Popen[bytes] | None = None

    def request(self, page: int, message: LaboratoryMessage) -> None:
        """Passes a request on; it is answered by messages of the kind `laboratory`, with JSON in `answer`."""
        line = json.dumps({"page": page, **asdict(message)}).encode() + b"\n"
        if self._process is None or self._process.poll() is not None:
            self._process = self._started()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
        except OSError:  # it is ending, or reads no more
            self._process.kill()
            self._send(page, "laboratory", {"answer": json.dumps({"key": "", "refusal": ENDED.as_json()})})

    def _started(self) -> subprocess.Popen[bytes]:
        niceness = 0 if self._simulated() else LOW_PRIORITY
        command = (sys.executable, "-m", PROGRAM, self._robot, str(niceness))
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env={**os.environ, **ONE_THREAD}, bufsize=0)
        assert process.stdin is not None and process.stdout is not None
        os.set_blocking(process.stdin.fileno(), False)
        threading.Thread(target=self._read, args=(process.stdout,), name="laboratory", daemon=True).start()
        return process

    def _read(self, answers: IO[bytes]) -> None:
        for line in os.fdopen(os.dup(answers.fileno()), encoding="utf-8"):
            page, _, answer = line.partition(" ")
            self._send(int(page), "laboratory", {"answer": answer})
            if "saved" in json.loads(answer):
                self._saved(int(page))

    def close(self) -> None:
        """Ends the process."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()  # it then ends its search, too
        try:
            self._process.wait(MAX_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
