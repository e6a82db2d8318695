# SPDX-License-Identifier: Apache-2.0
"""Faults around a running robot: output that is not read, a stranger's graph, a dead return line, half-open sockets."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import String

PERIOD_S = 15.0  # between the beginnings of two faults
DURATION_S = 3.0  # of a fault
STREAM_PERIOD_S = 0.02  # of foreign joint_states
SOCKETS = 40
PAGE = re.compile(r"the page: http://[\w.]+:(\d+)/")


class PausableLog:
    """A pipe whose content a thread copies to a file, except while it is paused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_end, self.end = os.pipe()
        self._running = threading.Event()
        self._running.set()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        with open(self._read_end, "rb", buffering=0) as pipe, self.path.open("wb", buffering=0) as file:
            while data := pipe.read(4096):
                file.write(data)
                self._running.wait()

    def pause(self) -> None:
        self._running.clear()

    def resume(self) -> None:
        self._running.set()

    def close(self) -> None:
        """Closes this end; the file is complete when all processes have closed theirs."""
        self.resume()
        os.close(self.end)
        self._thread.join(5.0)


class OutsideFaults:
    """Begins a fault every PERIOD_S and ends it DURATION_S later; call `step` regularly."""

    def __init__(
        self, bench: Any, seed: int, log: PausableLog, bus: Any, pids: Callable[[], Mapping[str, int]], names: list[str]
    ) -> None:
        """`bus` is the emulated line, `names` are the joints of the robot."""
        self.begun: list[str] = []
        self._bench, self._random, self._log, self._bus, self._pids, self._names = (
            bench,
            random.Random(seed),
            log,
            bus,
            pids,
            names,
        )
        self._faults = itertools.cycle(
            (self._paused_output, self._forged_graph, self._mute_line, self._foreign_joints, self._sockets, self._hang)
        )
        self._present: Iterator[None] | None = None
        self._next = time.monotonic()

    def step(self) -> None:
        """Continues the present fault, or begins the next one when it is due."""
        if self._present is not None:
            if next(self._present, False) is False:
                self._present = None
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + PERIOD_S
            fault = next(self._faults)
            self.begun.append(fault.__name__.lstrip("_"))
            self._present = fault()

    def end(self) -> None:
        """Ends the present fault."""
        while self._present is not None:
            self.step()
            self._bench.spin(STREAM_PERIOD_S)

    def _while_it_lasts(self) -> Iterator[None]:
        end = time.monotonic() + DURATION_S
        while time.monotonic() < end:
            yield

    def _paused_output(self) -> Iterator[None]:
        self._log.pause()
        yield from self._while_it_lasts()
        self._log.resume()

    def _forged_graph(self) -> Iterator[None]:
        publisher = self._bench.probe.create_publisher(String, "robot_nodes", 10)
        fields = {"node": "/gait_planner", "graph": "forged@1.0", "host": "elsewhere", "machine": "other", "process": 7}
        for age in (1e9, 1e5, 3600.0):
            publisher.publish(String(data=json.dumps({**fields, "started": 1.0, "age": age})))
        yield from self._while_it_lasts()
        self._bench.probe.destroy_publisher(publisher)

    def _mute_line(self) -> Iterator[None]:
        self._bus.pty.faults.mute = True
        yield from self._while_it_lasts()
        self._bus.pty.faults.mute = False

    def _foreign_joints(self) -> Iterator[None]:
        publisher = self._bench.probe.create_publisher(JointState, "joint_states", 10)
        names = self._random.sample(self._names, len(self._names))
        angles = [self._random.uniform(-1.0, 1.0) for _ in names]
        for _ in self._while_it_lasts():
            message = JointState(name=names, position=angles)
            message.header.stamp = self._bench.now()
            publisher.publish(message)
            yield
        self._bench.probe.destroy_publisher(publisher)

    def _sockets(self) -> Iterator[None]:
        found = PAGE.search(self._log.path.read_text(errors="replace"))
        assert found, "the page has no address"
        with contextlib.ExitStack() as stack:
            for _ in range(SOCKETS):
                half_open = stack.enter_context(socket.create_connection(("127.0.0.1", int(found[1])), 5.0))
                half_open.sendall(b"GET /socket HTTP/1.1\r\nHost:")
            yield from self._while_it_lasts()

    def _hang(self) -> Iterator[None]:
        pids = self._pids()
        name = self._random.choice(sorted(pids))
        self.begun[-1] = f"hang of {name}"
        os.kill(pids[name], signal.SIGSTOP)
        yield from self._while_it_lasts()
        with contextlib.suppress(ProcessLookupError):  # it was killed meanwhile
            os.kill(pids[name], signal.SIGCONT)
