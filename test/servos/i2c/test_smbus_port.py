# SPDX-License-Identifier: Apache-2.0
"""A bus of the kernel: smbus2 as installed, on an emulated ioctl with emulated chips."""

import errno
import os
from types import SimpleNamespace

import pytest
import smbus2.smbus2

from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire, RegisterChip
from hexapod_control.servos.i2c import i2c_bus
from hexapod_control.servos.i2c.i2c_bus import REPLY_TIMEOUT_S, AdapterPort, SmbusPort, is_kernel_bus, open_i2c
from hexapod_control.servos.i2c.i2c_port import I2cRead, I2cWrite, NoAcknowledgeError, TransferError

I2C_TIMEOUT, I2C_RDWR = 0x0702, 0x0707  # of linux/i2c-dev.h
I2C_M_RD = 1


class Kernel:
    """The ioctl of an I2C bus with one chip; `error` is raised by all transfers, `rigid` buses take no timeout."""

    def __init__(self):
        self.wire = I2cWire([RegisterChip(0x40, {2: 0x12, 3: 0x13, 5: 0x15}, lambda chip: {})])
        self.transfers, self.timeout, self.descriptor = [], None, None
        self.error, self.rigid = None, False

    def ioctl(self, descriptor, request, data):
        if descriptor is None:
            raise TypeError("argument must be an int, or have a fileno() method.")
        self.descriptor = descriptor
        if request == I2C_TIMEOUT:
            if self.rigid:
                raise OSError(errno.ENOTTY, "no timeout")
            self.timeout = data
        if request == I2C_RDWR:
            self._transfer([data.msgs[k] for k in range(data.nmsgs)])

    def _transfer(self, native):
        if self.error is not None:
            raise self.error
        self.transfers.append(
            [I2cRead(m.addr, m.len) if m.flags & I2C_M_RD else I2cWrite(m.addr, bytes(m)) for m in native]
        )
        number, data = self.wire.transfer(self.transfers[-1])
        if number:
            raise OSError(number, os.strerror(number))
        for message in native:
            if message.flags & I2C_M_RD:
                for i in range(message.len):
                    message.buf[i], data = data[:1], data[1:]


@pytest.fixture
def kernel(monkeypatch):
    made = Kernel()
    monkeypatch.setattr(smbus2.smbus2, "ioctl", made.ioctl)
    monkeypatch.setattr(i2c_bus, "fcntl", SimpleNamespace(ioctl=made.ioctl))
    return made


@pytest.fixture
def path(tmp_path):
    (tmp_path / "i2c-1").touch()
    return str(tmp_path / "i2c-1")


def test_messages_reach_the_kernel_in_one_call_and_all_bytes_read_come_back(kernel, path):
    port = SmbusPort(path, 100_000)
    asked = (I2cWrite(0x40, b"\x02"), I2cRead(0x40, 2), I2cWrite(0x40, b"\x05"), I2cRead(0x40, 1))
    assert port.transfer(*asked) == b"\x12\x13\x15"
    assert kernel.transfers == [list(asked)]
    assert port.transfer(I2cWrite(0x40, b"\x02\x99")) == b""
    assert kernel.wire.chips[0].registers[2] == 0x99
    assert (port.path, port.baud) == (path, 100_000)


def test_the_kernel_waits_for_a_chip_as_long_as_the_emulated_adapter_is_waited_for(kernel, path):
    SmbusPort(path, 100_000)
    assert kernel.timeout * 0.01 == pytest.approx(REPLY_TIMEOUT_S)  # in units of 10 ms
    kernel.rigid = True
    assert SmbusPort(path, 100_000).transfer(I2cRead(0x40, 1)) == b"\0"


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OSError(errno.EREMOTEIO, ""), NoAcknowledgeError, "no chip answers at address 0x41"),
        (OSError(errno.ENODEV, ""), PortGoneError, "the I2C bus is gone"),
        (OSError(), TransferError, "with address 0x41 failed .Input/output error"),
    ],
)
def test_an_error_of_the_kernel_names_the_address_of_the_first_message(kernel, path, error, kind, words):
    port = SmbusPort(path, 100_000)
    kernel.error = error
    with pytest.raises(kind, match=f"^{path}: .*{words}"):
        port.transfer(I2cWrite(0x41, b"\0"), I2cRead(0x42, 1))


def test_a_closed_bus_is_gone_and_may_be_closed_again_even_without_its_descriptor(kernel, path):
    port, other = SmbusPort(path, 100_000), SmbusPort(path, 100_000)
    os.close(kernel.descriptor)  # of the second one
    for each in (port, port, other):
        each.close()
    with pytest.raises(PortGoneError, match="the I2C bus is gone"):
        port.transfer(I2cRead(0x40, 1))


@pytest.mark.parametrize(
    ("major", "kind"),
    [(88, None), (89, SmbusPort), (90, None), (135, None), (136, AdapterPort), (143, AdapterPort), (144, None)],
)
def test_the_device_number_tells_a_bus_of_the_kernel_from_a_terminal(monkeypatch, kernel, path, major, kind):
    master, slave = os.openpty()
    name = os.ttyname(slave) if kind is AdapterPort else path
    found = SimpleNamespace(st_mode=os.fstat(slave).st_mode, st_rdev=os.makedev(major, 1))
    files = SimpleNamespace(**{**vars(os), "stat": lambda path: found})
    monkeypatch.setattr(i2c_bus, "os", files)
    assert is_kernel_bus(found.st_rdev) == (kind is SmbusPort)
    if kind is None:
        with pytest.raises(PortGoneError, match="is not an I2C bus"):
            open_i2c(name, 57_600)
    else:
        port = open_i2c(name, 57_600)
        assert isinstance(port, kind)
        assert (port.path, port.baud) == (name, 57_600)
        port.close()
    os.close(master)
    os.close(slave)
