# SPDX-License-Identifier: Apache-2.0
"""A pseudo-terminal in which a program runs."""

import contextlib
import os
import pty
import select
import subprocess
import sys
import termios
import time

from support.real_time.programs import PROGRAM

LIMIT = 20.0  # [s] for a reaction of the program


CHILD = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); import signal; signal.pause()"


KEYBOARD = [sys.executable, "-c", PROGRAM, "keyboard"]


class Window:
    """A pseudo-terminal in which a program runs; the test types and reads. Close it at the end."""

    def __init__(self, command, through_shell=False, screen=False, folder=None):
        """Starts the program; with `screen` its standard output is the terminal, too."""
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        command = [sys.executable, "-c", CHILD, *command] if through_shell else command
        self.process = subprocess.Popen(
            command,
            stdin=self.slave,
            stdout=self.slave if screen else subprocess.PIPE,
            stderr=self.slave,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # it becomes the controlling terminal
        )
        os.set_blocking(self.master, False)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self):
        """Reads the new output of the program."""
        with contextlib.suppress(BlockingIOError, OSError):
            self.text += os.read(self.master, 65536).decode(errors="replace")

    @property
    def settings(self):
        return termios.tcgetattr(self.slave)

    def until(self, condition, what):
        deadline = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}; seen: {self.text}"
            select.select([self.master], [], [], 0.05)
            self.read()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
        if self.process.stdout is not None:
            self.process.stdout.close()
        for end in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(end)
