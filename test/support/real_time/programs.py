"""The command `hexapod` as a program of its own, and bounded waits for what it does."""

import sys
import threading
import time

PROGRAM = "import sys; from hexapod_control.cli.main import main; sys.exit(main())"
HEXAPOD = [sys.executable, "-c", PROGRAM]


def until(condition, what, seconds=5.0):
    """Waits until a condition holds; fails with `what` after so many seconds."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"{what} not within {seconds} s"
        pause.wait(0.005)


def read_line(process, seconds=20.0):
    """The next line of the output of a process; one that prints none within so many seconds is killed."""
    killer = threading.Timer(seconds, process.kill)
    killer.start()
    try:
        return process.stdout.readline()
    finally:
        killer.cancel()
