# SPDX-License-Identifier: Apache-2.0
"""A node or a command that is asked to end while it starts, as by Ctrl-C right after `ros2 launch`."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hexapod_control.config.errors import FAILED, INTERRUPTED, INVALID_INPUT

NODE = [Path(sys.prefix, "lib", "hexapod_control", "odometry"), "--ros-args", "-r"]
COMMAND = [sys.executable, "-c", "import sys; from hexapod_control.cli.program import main; sys.exit(main())", "status"]
DELAYS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # [s]
KILLED = -signal.SIGINT  # the shell that starts Python


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "delays", "codes"),
    [(NODE, DELAYS, (0, KILLED)), (COMMAND, DELAYS[4:], (INTERRUPTED, INVALID_INPUT, FAILED))],
    ids=["node", "command"],
)
def test_a_signal_at_any_moment_of_the_start_ends_a_program_without_a_traceback(command, delays, codes):
    running = []
    for number, delay in enumerate(delays):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
        namespace = f"__ns:=/robot{number}" if command is NODE else "--namespace=/robot"
        process = subprocess.Popen([*command, namespace], **options)
        timer = threading.Timer(delay, os.killpg, (process.pid, signal.SIGINT))
        timer.start()
        running.append((delay, process))
    for delay, process in running:
        text, _ = process.communicate(timeout=30.0)
        assert process.returncode in codes and "Traceback" not in text, (delay, text)
