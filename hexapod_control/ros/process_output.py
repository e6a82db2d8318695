# SPDX-License-Identifier: Apache-2.0
"""Standard output, standard error and log file of a process that controls a robot: printing never blocks it.

    print, rclpy's log, C libraries -> pipe -> reader thread -> queue -> writer thread -> terminal
                                                             -> queue -> writer thread -> log file

The pipe takes the place of file descriptors 1 and 2, so this holds for every library. The reader never waits, so the
pipe is never full for long; the writers may wait for ever, and their queues then drop the oldest lines and count them.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import select
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TextIO

from hexapod_control.ros.writer_thread import WriterThread

PIPE_SIZE = 1 << 20  # [B]
CHUNK_SIZE = 1 << 16  # [B] that are read at once
QUEUE_DEPTH = 1000  # lines, of each writer
MAX_LINE = 1 << 16  # [B] of a line without an end
LAST_LINES_S = 1.0  # time limit for the last lines, at the end of the process
COLOR = re.compile(rb"\x1b\[[0-9;]*m")
COLORED = "RCUTILS_COLORIZED_OUTPUT"  # environment variable of the ROS log


def missing_lines(count: int) -> str:
    """The line that takes the place of lines that were dropped."""
    return f"({count} lines are missing here, as nothing read this output)"


class ProcessOutput:
    """Keeps writes to standard output and standard error from blocking, as long as its context lasts."""

    def __init__(self, program: str) -> None:
        """`program` names the log file."""
        errors = _Stream(2)
        self._file = LogFile(program)
        errors.log = self._file
        self._streams = (_Stream(1), errors)
        self._reader = threading.Thread(target=self._read, name="output", daemon=True)
        self._reported = 0  # of the dropped lines

    def take_dropped(self) -> int:
        """Returns how many lines were dropped since the last call because nothing read the output."""
        total = sum(stream.writer.dropped for stream in self._streams)
        new = total - self._reported
        self._reported = total
        return new

    @property
    def log_trouble(self) -> str:
        """Why the log file is not where it should be, as a sentence; empty if it is."""
        return self._file.trouble

    def __enter__(self) -> ProcessOutput:
        for stream in self._streams:
            stream.redirect()
        self._reader.start()
        return self

    def __exit__(self, *exception: object) -> None:
        for stream in self._streams:
            stream.restore()
        deadline = time.monotonic() + LAST_LINES_S
        self._reader.join(LAST_LINES_S)
        for writer in (*(stream.writer for stream in self._streams), self._file.writer):
            writer.wait(max(0.0, deadline - time.monotonic()))

    def _read(self) -> None:
        """Passes lines on until both pipes are closed."""
        open_streams = {stream.read_end: stream for stream in self._streams}
        while open_streams:
            for descriptor in select.select(list(open_streams), [], [])[0]:
                if not open_streams[descriptor].take(os.read(descriptor, CHUNK_SIZE)):
                    os.close(descriptor)
                    del open_streams[descriptor]


class _Stream:
    """One redirected file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.log: LogFile | None = None
        self.read_end = -1
        self.writer = WriterThread(f"output {descriptor}", QUEUE_DEPTH, self._note_dropped)
        self._descriptor = descriptor
        self._text: TextIO | None = None  # Python's stream, as it was
        self._rest = b""  # a line without its end
        try:
            self._target = os.dup(descriptor)
        except OSError:  # it was closed by who started the process
            self._target = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)

    def redirect(self) -> None:
        self.read_end, write_end = os.pipe()
        with contextlib.suppress(OSError):  # a user may have only so much of it
            fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        if os.isatty(self._descriptor):
            os.environ.setdefault(COLORED, "1")
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            with contextlib.suppress(io.UnsupportedOperation, ValueError, AttributeError):
                if stream.fileno() == self._descriptor:
                    stream.flush()
                    self._text = stream
                    setattr(sys, name, _text_stream(self._descriptor, stream))
        os.set_blocking(write_end, False)
        os.dup2(write_end, self._descriptor)
        os.close(write_end)

    def restore(self) -> None:
        for name in ("stdout", "stderr"):
            if self._text is not None and getattr(sys, name).fileno() == self._descriptor:
                setattr(sys, name, self._text)
        os.dup2(self._target, self._descriptor)  # closes the pipe: the reader ends

    def take(self, data: bytes) -> bool:
        """Queues the complete lines. Returns False at the end of the pipe, for which `data` is empty."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._rest and (not data or len(self._rest) > MAX_LINE):
            lines = [*lines, self._rest]
            self._rest = b""
        for line in lines:
            self.put(line + b"\n")
            if self.log is not None:
                self.log.put(line + b"\n")
        return bool(data)

    def put(self, line: bytes) -> None:
        """Queues a line for the terminal."""
        self.writer.put(partial(self._write, line))

    def _write(self, data: bytes) -> None:
        """Writes to the terminal or pipe, as long as that takes; nothing can be done if it is closed."""
        with contextlib.suppress(OSError):
            while data:
                try:
                    data = data[os.write(self._target, data) :]
                except BlockingIOError:  # the descriptor belongs to the parent too, which may have made it so
                    select.select([], [self._target], [])

    def _note_dropped(self, count: int) -> None:
        self._write(f"{missing_lines(count)}\n".encode())


class LogFile:
    """The log file of this process, in the folder that ROS uses, or a temporary one if that cannot be written."""

    def __init__(self, program: str) -> None:
        self.path: Path | None = None
        self.trouble = ""  # why it is not where it should be
        self.writer = WriterThread("log file", QUEUE_DEPTH)
        self._name = f"{program}_{os.getpid()}_{time.time_ns() // 1_000_000}.log"
        self._descriptor = -1

    def put(self, line: bytes) -> None:
        """Queues a line, without its colors."""
        self.writer.put(partial(self._write, line))

    def _write(self, line: bytes) -> None:
        if self._descriptor < 0 and self.path is None:
            self._open()
        with contextlib.suppress(OSError):  # the disk is full, or the folder was removed
            if self._descriptor >= 0:
                os.write(self._descriptor, COLOR.sub(b"", line))

    def _open(self) -> None:
        """Opens the file in the first folder in which that is possible."""
        first, *_ = folders = list(log_folders())
        for folder in folders:
            self.path = folder / self._name
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
                break
        if self.path != first / self._name or self._descriptor < 0:
            place = f"is in {self.path.parent}" if self._descriptor >= 0 and self.path else "is not kept"
            self.trouble = f"the log {place}, as {first} cannot be written: set ROS_LOG_DIR to a folder of yours"


def log_folders() -> Iterator[Path]:
    """Yields the folder for log files by the rules of ROS (ROS_LOG_DIR, ROS_HOME, ~/.ros/log), then a temporary one."""
    if "ROS_LOG_DIR" in os.environ:
        yield Path(os.environ["ROS_LOG_DIR"]).expanduser()
    elif "ROS_HOME" in os.environ:
        yield Path(os.environ["ROS_HOME"]).expanduser() / "log"
    else:
        with contextlib.suppress(RuntimeError):  # there is no home folder
            yield Path.home() / ".ros" / "log"
    yield Path(tempfile.gettempdir(), f"hexapod_log_{os.getuid()}")


class _DroppingFile(io.RawIOBase):
    """Writes to a non-blocking file descriptor; what it does not take at once is dropped."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        rest = bytes(data)
        with contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        return len(data)


def _text_stream(descriptor: int, like: TextIO) -> TextIO:
    raw: io.BufferedIOBase = _DroppingFile(descriptor)  # type: ignore[assignment]
    return io.TextIOWrapper(raw, encoding=like.encoding, errors="backslashreplace", line_buffering=True)  # type: ignore[type-var]
