# SPDX-License-Identifier: Apache-2.0
"""Transfers over an emulated adapter, the errors of a bus, and the message for a missing bus."""

import errno
import os
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_control.servos.bus.bus_interface import BusError, PortGoneError
from hexapod_control.servos.emulator.devices.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.i2c import i2c_bus
from hexapod_control.servos.i2c.adapter_frames import (
    REPLY,
    AdapterDecoder,
    frame,
)
from hexapod_control.servos.i2c.i2c_bus import REPLY_TIMEOUT_S, SmbusPort, open_i2c
from hexapod_control.servos.i2c.i2c_port import (
    BusStuckError,
    I2cRead,
    NoAcknowledgeError,
    failure,
    listed,
    read_registers,
    scan,
)
from hexapod_control.servos.protocol_registry import PROTOCOLS


@settings(max_examples=80)
@given(st.binary(min_size=1, max_size=20), st.data())
def test_a_frame_with_a_wrong_byte_is_none(body, data):
    whole = frame(REPLY, 7, body)
    at = data.draw(st.integers(4, len(whole) - 1))
    wrong = whole[:at] + bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :]
    assert (7, body) not in AdapterDecoder(REPLY).feed(wrong)


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.EREMOTEIO, NoAcknowledgeError, "no chip answers at address 0x41: check its power"),
        (errno.ENXIO, NoAcknowledgeError, "no chip answers at address 0x41: check its power"),
        *(
            (number, BusStuckError, "the I2C bus is stuck, SDA or SCL is held low: switch the power")
            for number in (errno.ETIMEDOUT, errno.EBUSY, errno.EAGAIN)
        ),
        (errno.EIO, BusError, r"a transfer with address 0x41 failed \(Input/output error\): check cables"),
        (errno.ENODEV, PortGoneError, r"the I2C bus is gone \(No such device\): check the adapter"),
        (errno.EBADF, PortGoneError, r"the I2C bus is gone \(Bad file descriptor\): check the adapter"),
    ],
)
def test_an_error_of_the_kernel_is_a_sentence_with_cause_and_remedy(number, kind, words):
    with pytest.raises(kind, match=f"^/dev/i2c-1: {words}"):
        raise failure("/dev/i2c-1", 0x41, number)


class Scanned:
    """A bus with chips at some addresses, which is busy for some transfers with 0x20."""

    path, baud = "/dev/i2c-1", 400_000

    def __init__(self, busy=0):
        self.busy, self.asked = busy, []

    def transfer(self, message):
        self.asked.append(message)
        if message.address == 0x20 and self.busy:
            self.busy -= 1
            raise failure(self.path, message.address, errno.EAGAIN)
        if message.address not in (0x08, 0x20, 0x77):
            raise failure(self.path, message.address, errno.ENXIO)
        return b"\0"


def test_a_scan_reads_a_byte_at_every_address_that_is_not_reserved():
    bus = Scanned()
    assert scan(bus) == [0x08, 0x20, 0x77]
    assert bus.asked == [I2cRead(address, 1) for address in range(0x08, 0x78)]
    assert listed(scan(bus)) == "0x08, 0x20, 0x77"


def test_a_scan_asks_again_on_a_busy_bus_up_to_five_times():
    bus = Scanned(busy=4)
    assert scan(bus) == [0x08, 0x20, 0x77]
    bus = Scanned(busy=5)
    with pytest.raises(BusStuckError):
        scan(bus)
    assert bus.asked.count(I2cRead(0x20, 1)) == 5


def test_a_path_without_a_bus_is_named_with_the_way_to_switch_it_on(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(
        PortGoneError, match=r"/dev/i2c-77: there is no such I2C bus: on a Raspberry Pi .*dtparam=i2c_arm=on"
    ):
        open_i2c("/dev/i2c-77", 100_000)
    for path in (str(file), "/dev/null"):
        with pytest.raises(PortGoneError, match=f"{path}: is not an I2C bus: "):
            open_i2c(path, 100_000)


def test_a_bus_without_permission_names_the_group(monkeypatch):
    master, slave = os.openpty()
    path = os.ttyname(slave)
    monkeypatch.setattr(i2c_bus.os, "access", lambda *_: False)
    with pytest.raises(
        PortGoneError, match=rf"{path}: no permission: join its group with `sudo usermod -aG \w+ \$USER`"
    ):
        open_i2c(path, 100_000)
    os.close(master)
    os.close(slave)


def test_without_smbus2_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "smbus2", None)
    with pytest.raises(PortGoneError, match=r"smbus2 is missing: .* install .*smbus2"):
        SmbusPort("/dev/i2c-1", 100_000)


def test_a_bus_that_the_kernel_refuses_is_an_error_of_the_port():
    with pytest.raises(PortGoneError, match="/dev/i2c-77: the I2C bus cannot be opened"):
        SmbusPort("/dev/i2c-77", 100_000)


@pytest.fixture
def bus(tmp_path):
    world = LagWorld(PROTOCOLS["pca9685"].scale, 18)
    with PseudoTerminal(I2cAdapter(world, range(18)), 400_000, link=tmp_path / "bus") as pty:
        yield pty


@pytest.mark.waits
def test_several_programs_share_a_bus_and_each_gets_its_own_replies(bus):
    ports, wrong = [open_i2c(bus.path, 400_000) for _ in range(3)], []

    def ask(port, register, expected):
        for _ in range(15):
            if read_registers(port, 0x40, register, 1) != expected:
                wrong.append(register)

    asked = zip(ports, (2, 3, 4), (b"\xe2", b"\xe4", b"\xe8"), strict=True)
    threads = [threading.Thread(target=ask, args=each) for each in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert wrong == []
    for port in ports:
        port.close()


@pytest.mark.waits
def test_a_reply_that_comes_too_late_is_not_taken_for_the_next(bus):
    port = open_i2c(bus.path, 400_000)
    bus.faults.late = 0.06
    with pytest.raises(BusStuckError):
        read_registers(port, 0x40, 2, 1)
    bus.faults.late = 0.0
    assert read_registers(port, 0x41, 3, 1) == b"\xe4"
    port.close()


@pytest.mark.waits
def test_a_bus_whose_terminal_vanishes_is_gone(bus):
    port = open_i2c(bus.path, 400_000)
    bus.hang_up()
    with pytest.raises(PortGoneError):
        read_registers(port, 0x40, 2, 1)
    port.close()


@pytest.mark.waits
def test_an_address_without_a_chip_is_refused_at_once(bus):
    port = open_i2c(bus.path, 400_000)
    begun = time.monotonic()
    for _ in range(20):
        with pytest.raises(NoAcknowledgeError):
            read_registers(port, 0x50, 0, 8)
    assert time.monotonic() - begun < 20 * REPLY_TIMEOUT_S
    port.close()
