# SPDX-License-Identifier: Apache-2.0
"""The command `hexapod` as a program of its own, the processes of its nodes, and bounded waits for what they do."""

import os
import re
import select
import signal
import subprocess
import sys
import threading
import time

PROGRAM = "import sys; from hexapod_control.cli.main import main; sys.exit(main())"
HEXAPOD = [sys.executable, "-c", PROGRAM]
MAX_WAIT_S = 90.0  # for anything that a simulation does


def until(condition, what, seconds=5.0, pause=0.005):
    """Waits until a condition holds, asked every `pause` [s]; fails with `what` after so many seconds."""
    deadline, never = time.monotonic() + seconds, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"{what} not within {seconds} s"
        never.wait(pause)


def read_line(process, seconds=20.0):
    """The next line of the output of a process; one that prints none within so many seconds is killed."""
    killer = threading.Timer(seconds, process.kill)
    killer.start()
    try:
        return process.stdout.readline()
    finally:
        killer.cancel()


def processes():
    """Process id and name of every node of this package that runs under this test's own ROS domain."""
    domain = f"ROS_DOMAIN_ID={os.environ['ROS_DOMAIN_ID']}".encode()
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as command, open(f"/proc/{pid}/environ", "rb") as environment:
                name = re.search(rb"hexapod_control\.(?:nodes\.\w+|cli\.robot)\.(\w+)", command.read())
                if name and domain in environment.read().split(b"\0"):
                    found[name[1].decode()] = int(pid)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


class SimulationCommand:
    """`hexapod sim` as a process, with an ideal robot unless told otherwise; its output is read while it runs."""

    def __init__(self, *arguments, keys=subprocess.DEVNULL):
        self.process = subprocess.Popen(
            [*HEXAPOD, "sim", "--reality", "ideal", *arguments],
            stdin=keys,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def wait_for(self, condition, what):
        deadline = time.monotonic() + MAX_WAIT_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}; seen: {self.text}"
            assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.text}"
            self._read(0.1)

    def _read(self, seconds):
        if select.select([self.process.stdout], [], [], seconds)[0]:
            self.text += (self.process.stdout.read() or b"").decode(errors="replace")

    def end(self):
        """Waits for its end. Returns its exit code."""
        deadline = time.monotonic() + MAX_WAIT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"does not end; seen: {self.text}"
            self._read(0.1)
        self._read(0.1)
        return self.process.returncode

    def close(self):
        """Kills what still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(MAX_WAIT_S)
        self.process.stdout.close()
        for pid in processes().values():
            os.kill(pid, signal.SIGKILL)
