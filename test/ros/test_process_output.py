# SPDX-License-Identifier: Apache-2.0
"""What a process prints: complete while it is read, and never an obstacle while it is not."""

import os
import subprocess
import sys

import pytest
from support.real_time.programs import until

pytestmark = pytest.mark.process

PRINTING = """
import os, sys, time
from hexapod_control.ros.process_output import ProcessOutput
with ProcessOutput("printing") as output:
    for number in range(int(sys.argv[1])):
        print("line", number)
        print("error", number, file=sys.stderr)
    os.write(2, b"from a library\\n")
    while sys.argv[2:] and not output.log_trouble:
        time.sleep(0.01)
    print(output.take_dropped() > 0, output.log_trouble, file=open(os.environ["RESULT"], "w"))
    sys.stdin.read()
print("after")
"""
LIMIT = 20.0  # [s] allowed for a process on a loaded machine


@pytest.fixture
def printing(tmp_path, monkeypatch):
    """Starts a program that prints so many lines to both outputs."""
    monkeypatch.setenv("RESULT", str(tmp_path / "result"))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))

    def start(count, *words, **options):
        options = {"stdin": subprocess.DEVNULL} | options
        return subprocess.Popen([sys.executable, "-c", PRINTING, str(count), *words], **options)

    return start


def test_all_lines_arrive_in_order_and_errors_also_in_the_log_file(printing, tmp_path):
    process = printing(200, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, errors = process.communicate(timeout=LIMIT)
    assert out.splitlines() == [*(f"line {number}" for number in range(200)), "after"]
    assert errors.splitlines() == [*(f"error {number}" for number in range(200)), "from a library"]
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith(f"printing_{process.pid}_") and file.read_text() == errors
    assert (tmp_path / "result").read_text() == "False \n"


def test_without_a_reader_lines_are_dropped_and_counted_and_the_process_goes_on(printing, tmp_path):
    read_end, write_end = os.pipe()
    process = printing(20_000, stdin=subprocess.PIPE, stdout=write_end, stderr=write_end)
    os.close(write_end)
    result = tmp_path / "result"
    until(lambda: result.exists() and result.read_text(), "the end of printing", LIMIT)
    assert result.read_text() == "True \n"
    process.stdin.close()
    with os.fdopen(read_end, errors="replace") as pipe:
        text = pipe.read()
    assert process.wait(LIMIT) == 0
    assert " lines are missing here, as nothing read this output" in text
    assert "from a library" in text and text.endswith("after\n")


def test_a_log_folder_that_cannot_be_written_is_replaced_and_named(printing, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("ROS_LOG_DIR", str(blocked))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert printing(1, "until there is trouble").wait(LIMIT) == 0
    folder = tmp_path / f"hexapod_log_{os.getuid()}"
    trouble = f"the log is in {folder}, as {blocked} cannot be written: set ROS_LOG_DIR to a folder of yours"
    assert (tmp_path / "result").read_text() == f"False {trouble}\n"
    assert "error 0" in next(folder.iterdir()).read_text()


def test_closed_outputs_are_no_fault(printing, tmp_path):
    process = printing(1, preexec_fn=lambda: (os.close(1), os.close(2)))
    assert process.wait(LIMIT) == 0 and (tmp_path / "result").exists()
