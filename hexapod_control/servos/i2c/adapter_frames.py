# SPDX-License-Identifier: Apache-2.0
"""Frames between a program and an emulated I2C adapter at the other end of a pseudo-terminal.

A frame is: start byte, length of the body (2, low first), tag, body, sum of all bytes before. A reply has the tag of
its request, so that a late one is not taken for the next.

    request body   per message: address << 1 | read, length (2, low first), and the data if it is written
    reply body     error number of Linux (0: none), then all bytes read, or as many zeros after an error
"""

from __future__ import annotations

from typing import NamedTuple

from hexapod_control.servos.i2c.i2c_port import I2cMessage, I2cRead, I2cWrite

REQUEST = 0xA5
REPLY = 0x5A
# bytes before and after the body
HEAD = 4
TAIL = 1
MAX_BODY = 4096


class AdapterFrame(NamedTuple):
    """A frame with a correct checksum."""

    tag: int
    body: bytes


def frame(start: int, tag: int, body: bytes) -> bytes:
    """Encodes a frame with this start byte."""
    data = bytes([start, len(body) & 0xFF, len(body) >> 8, tag]) + body
    return data + bytes([sum(data) & 0xFF])


def encode_messages(messages: tuple[I2cMessage, ...]) -> bytes:
    """Encodes messages as the body of a request."""
    body = b""
    for each in messages:
        reads = isinstance(each, I2cRead)
        count = each.count if isinstance(each, I2cRead) else len(each.data)
        body += bytes([each.address << 1 | reads, count & 0xFF, count >> 8])
        body += b"" if isinstance(each, I2cRead) else each.data
    return body


def decode_messages(body: bytes) -> list[I2cMessage]:
    """Decodes the body of a request."""
    messages: list[I2cMessage] = []
    while len(body) >= 3:
        address = body[0] >> 1
        count = body[1] | body[2] << 8
        if body[0] & 1:
            messages.append(I2cRead(address, count))
            body = body[3:]
        else:
            messages.append(I2cWrite(address, body[3 : 3 + count]))
            body = body[3 + count :]
    return messages


class AdapterDecoder:
    """Decodes bytes to frames with this start byte; skips all other bytes."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._data = b""

    def forget(self) -> None:
        """Drops an unfinished frame."""
        self._data = b""

    def feed(self, data: bytes) -> list[AdapterFrame]:
        """The frames that these bytes complete."""
        self._data += data
        found: list[AdapterFrame] = []
        while True:
            begin = self._data.find(self._start)
            self._data = self._data[begin:] if begin >= 0 else b""
            if len(self._data) < HEAD:
                return found
            size = HEAD + (self._data[1] | self._data[2] << 8) + TAIL
            if size > MAX_BODY:
                self._data = self._data[1:]
                continue
            if len(self._data) < size:
                return found
            whole = self._data[:size]
            good = whole[-1] == sum(whole[:-1]) & 0xFF
            if good:
                found.append(AdapterFrame(whole[3], whole[HEAD:-TAIL]))
            self._data = self._data[size if good else 1 :]
