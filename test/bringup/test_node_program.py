"""A node that is asked to end while it starts, as by Ctrl-C right after `ros2 launch`."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

PROGRAM = Path(sys.prefix, "lib", "hexapod_control", "odometry")
DELAYS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # [s]
KILLED = -signal.SIGINT  # the shell that starts Python


@pytest.mark.process
def test_a_signal_at_any_moment_of_the_start_ends_a_node_without_a_traceback():
    running = []
    for delay in DELAYS:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
        process = subprocess.Popen([str(PROGRAM), "--ros-args", "-p", "robot:=phantomx"], **options)
        timer = threading.Timer(delay, os.killpg, (process.pid, signal.SIGINT))
        timer.start()
        running.append((delay, process))
    for delay, process in running:
        text, _ = process.communicate(timeout=30.0)
        assert process.returncode in (0, KILLED) and "Traceback" not in text, (delay, text)
