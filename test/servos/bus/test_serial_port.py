# SPDX-License-Identifier: Apache-2.0
"""Every failure of the serial port raises the same error, with a remedy."""

import contextlib
import errno
import os
import re
import resource
import select
import subprocess
import sys
import termios
import time
import tty
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import serial
from support.real_time.programs import read_line

from hexapod_control.servos.bus import serial_port as port_module
from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.bus.serial_port import SerialPort, latency, reason, slow_adapter

HOLD = "import serial, sys; s = serial.Serial(sys.argv[1], exclusive=True); print('held', flush=True); sys.stdin.read()"


class Terminal:
    """The far end of a pty."""

    def __init__(self):
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        os.close(slave)

    def unplug(self):
        os.close(self.master)
        self.master = -1


@pytest.fixture
def terminal():
    end = Terminal()
    yield end
    if end.master >= 0:
        os.close(end.master)


@pytest.fixture
def line(terminal):
    port = SerialPort(terminal.path, 1_000_000)
    yield port
    port.close()


def soon(seconds=1.0):
    return time.monotonic() + seconds


def test_bytes_go_both_ways_untouched(line, terminal):
    data = bytes(range(256))
    line.write(data)
    assert select.select([terminal.master], [], [], 5.0)[0]
    assert os.read(terminal.master, 1000) == data
    os.write(terminal.master, data)
    assert line.read(256, soon()) == data


def test_a_read_returns_at_most_the_requested_bytes(line, terminal):
    os.write(terminal.master, b"12345")
    assert line.read(2, soon()) == b"12"
    assert line.read(3, soon()) == b"345"


def test_a_read_ends_at_its_deadline_with_what_has_come(line, terminal):
    os.write(terminal.master, b"123")
    begun = time.monotonic()
    assert line.read(10, begun + 0.05) == b"123"
    assert 0.05 <= time.monotonic() - begun < 0.5
    assert line.read(10, begun) == b""  # long over


def test_a_thread_that_waits_for_the_replies_of_all_servos_wakes_for_few_of_them(terminal):
    slow = SerialPort(terminal.path, 38_400)  # on which 18 replies take 56 ms

    def reply():
        for _ in range(18):
            os.write(terminal.master, bytes(12))
            time.sleep(0.001)

    with ThreadPoolExecutor() as servos:
        servos.submit(reply)
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        assert len(slow.read(18 * 12, soon())) == 18 * 12
        assert resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before < 6
    slow.close()


def test_clear_discards_received_bytes(line, terminal):
    os.write(terminal.master, b"old")
    assert line.read(1, soon()) == b"o"
    line.clear()
    os.write(terminal.master, b"new")
    assert line.read(3, soon()) == b"new"


@pytest.mark.parametrize(
    "operation",
    [lambda p: p.write(b"x"), lambda p: p.read(1, soon()), lambda p: p.clear()],
    ids=["write", "read", "clear"],
)
def test_every_call_on_an_unplugged_port_fails_at_once(line, terminal, operation):
    line.write(b"x")
    terminal.unplug()
    begun = time.monotonic()
    with pytest.raises(PortGoneError, match=rf"{terminal.path}: gone while .*: unplugged\? check the cable"):
        operation(line)
    assert time.monotonic() - begun < 0.2
    line.close()
    line.close()
    with pytest.raises(PortGoneError, match="it was closed"):
        operation(line)


@pytest.mark.parametrize(
    "error",
    [
        termios.error(5, "Input/output error"),
        OSError(errno.EIO, "Input/output error"),
        serial.SerialException("device reports readiness to read but returned no data"),
        ValueError("file descriptor cannot be a negative integer (-1)"),
        TypeError("argument must be an int, or have a fileno() method"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_failure_raises_the_same_error(line, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(port_module, "os", SimpleNamespace(read=fail, write=fail))
    monkeypatch.setattr(port_module, "termios", SimpleNamespace(tcflush=fail, TCIFLUSH=termios.TCIFLUSH))
    monkeypatch.setattr(port_module.select, "select", lambda *_: ([1], [], []))
    for operation in (lambda: line.write(b"x"), lambda: line.read(1, soon()), line.clear):
        with pytest.raises(PortGoneError, match="gone while"):
            operation()
    monkeypatch.undo()
    monkeypatch.setattr(serial.Serial, "close", fail)
    line.close()
    monkeypatch.undo()


def test_a_readable_port_without_data_is_gone(line, monkeypatch):
    monkeypatch.setattr(port_module.select, "select", lambda *_: ([1], [], []))
    monkeypatch.setattr(port_module, "os", SimpleNamespace(read=lambda *_: b""))
    with pytest.raises(PortGoneError, match="gone while reading"):
        line.read(1, soon())


def test_a_frame_larger_than_the_buffer_of_the_line_arrives_whole(line, terminal):
    sent, received = bytes(range(256)) * 256, b""
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(line.write, sent)
        while len(received) < len(sent):
            assert select.select([terminal.master], [], [], 5.0)[0], writing.result(1.0)
            received += os.read(terminal.master, 4096)
        writing.result(1.0)
    assert received == sent


def test_a_line_that_accepts_no_bytes_does_not_block(line):
    begun = time.monotonic()
    with pytest.raises(PortGoneError, match="no longer accepts bytes"):
        for _ in range(100):
            line.write(bytes(4096))
    assert time.monotonic() - begun < 2.0


def test_opening_a_busy_port_reports_the_process_that_uses_it(line, terminal):
    with pytest.raises(PortGoneError, match=rf"{terminal.path}: is in use by this program itself: end that first"):
        SerialPort(terminal.path, 115200)


def test_the_program_that_has_the_port_is_named(terminal):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, terminal.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert read_line(holder) == "held\n"
        with pytest.raises(PortGoneError, match=rf"is in use by .*\(process {holder.pid}\)"):
            SerialPort(terminal.path, 115200)
        holder.stdin.close()
        assert holder.wait(10) == 0
    SerialPort(terminal.path, 115200).close()


def test_a_port_can_be_opened_again_after_it_was_closed(terminal):
    for _ in range(3):
        SerialPort(terminal.path, 115200).close()


def test_opening_an_absent_port_lists_the_ports_that_exist(monkeypatch, tmp_path):
    (tmp_path / "usb-FTDI_A1").touch()
    monkeypatch.setattr(port_module, "BY_ID", tmp_path)
    with pytest.raises(PortGoneError, match=r"there is no such port: plug the adapter in .* present: .*usb-FTDI_A1"):
        SerialPort("/dev/serial/by-id/no-such-port", 115200)
    monkeypatch.setattr(port_module, "BY_ID", tmp_path / "none")
    monkeypatch.setattr(port_module.Path, "glob", lambda *_: iter(()))
    assert "no USB serial port is present" in reason("/dev/no-such-port", 115200, OSError())


def test_a_file_is_not_a_port(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PortGoneError, match="is not a serial port"):
        SerialPort(str(tmp_path / "file"), 115200)


def test_a_character_device_that_is_no_terminal_is_refused():
    with pytest.raises(PortGoneError, match="/dev/null: is not a serial port"):
        SerialPort("/dev/null", 115200)


def test_a_missing_right_names_the_group_to_join(terminal, monkeypatch):
    monkeypatch.setattr(port_module.os, "access", lambda *_: False)
    group = port_module.grp.getgrgid(Path(terminal.path).stat().st_gid).gr_name.replace("root", "dialout")
    message = reason(terminal.path, 115200, PermissionError(errno.EACCES, "Permission denied"))
    assert f"no permission: join its group with `sudo usermod -aG {group} $USER`, then log in again" in message

    def unknown(_):
        raise KeyError

    monkeypatch.setattr(port_module.grp, "getgrgid", unknown)
    assert "usermod -aG dialout" in reason(terminal.path, 115200, PermissionError())


@pytest.mark.parametrize("baud", [-1, "fast"])
def test_an_impossible_baud_is_named(terminal, baud):
    with pytest.raises(PortGoneError, match=f"does not support {baud} baud"):
        SerialPort(terminal.path, baud)


def test_messages_are_one_line(terminal):
    for path in ("/dev/no-such-port", "/dev/null", terminal.path):
        assert "\n" not in reason(path, 115200, OSError(errno.EIO, "Input/output error"))


def test_a_port_without_a_latency_timer_reports_no_latency(line):
    assert line.latency is None


def test_the_latency_of_an_adapter_is_read_from_sysfs(monkeypatch, tmp_path):
    timer = tmp_path / "sys/class/tty/ttyUSB7/device"
    timer.mkdir(parents=True)
    (timer / "latency_timer").write_text("16\n")
    real = Path

    def moved(*parts):
        return real(tmp_path, *(str(part).lstrip("/") for part in parts)) if "/sys" in str(parts[0]) else real(*parts)

    monkeypatch.setattr(port_module, "Path", moved)
    assert latency("/dev/ttyUSB7") == 0.016


def test_no_file_stays_open(terminal):
    before = set(os.listdir("/proc/self/fd"))
    line = SerialPort(terminal.path, 115200)
    line.close()
    with contextlib.suppress(PortGoneError):
        SerialPort("/dev/null", 115200)
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EBUSY, "busy"), "is in use by .+: end that first$"),
        (OSError(errno.EIO, "no answer"), "is not a serial port; "),
        (ValueError("not a speed"), "does not support 300 baud: not a speed"),
    ],
)
def test_the_cause_of_a_refused_port_is_named(error, text):
    assert re.match(f"/dev/null: {text}", reason("/dev/null", 300, error))


def test_a_serial_port_that_fails_for_another_reason_is_named_with_it(terminal):
    text = reason(terminal.path, 300, OSError(errno.EIO, "no answer"))
    assert text.startswith(f"{terminal.path}: cannot be opened: ")


@pytest.mark.parametrize(("latency", "warns"), [(None, False), (0.001, False), (0.016, True)])
def test_an_adapter_that_holds_replies_back_is_reported_with_the_remedy(latency, warns):
    text = slow_adapter("/dev/ttyUSB0", latency)
    assert ("/dev/ttyUSB0 holds bytes back for 16 ms: install the udev rule" in text) == warns == bool(text)
