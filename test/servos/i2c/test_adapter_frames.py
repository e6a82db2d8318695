# SPDX-License-Identifier: Apache-2.0
"""Frames of an emulated I2C adapter are decoded whatever comes before them and however they are split."""

from hypothesis import example, given
from hypothesis import strategies as st

from hexapod_control.servos.i2c.adapter_frames import (
    REPLY,
    REQUEST,
    AdapterDecoder,
    AdapterFrame,
    decode_messages,
    encode_messages,
    frame,
)
from hexapod_control.servos.i2c.i2c_port import I2cRead, I2cWrite

bodies = st.binary(max_size=300)
addresses = st.integers(0, 127)
messages = st.lists(
    st.builds(I2cRead, addresses, st.integers(0, 400)) | st.builds(I2cWrite, addresses, bodies), max_size=4
)


@given(messages)
def test_the_messages_of_a_request_come_back(sent):
    assert decode_messages(encode_messages(tuple(sent))) == sent


@given(st.lists(st.tuples(st.integers(0, 255), bodies), max_size=4), st.integers(1, 50))
def test_frames_are_decoded_however_they_are_split(sent, size):
    data = b"".join(frame(REPLY, tag, body) for tag, body in sent)
    decoder = AdapterDecoder(REPLY)
    found = [each for at in range(0, len(data), size) for each in decoder.feed(data[at : at + size])]
    assert found == [AdapterFrame(tag, body) for tag, body in sent]


@given(st.binary(max_size=20).filter(lambda noise: REQUEST not in noise), bodies)
@example(bytes([REPLY]), b"")
def test_other_bytes_before_a_frame_are_skipped(noise, body):
    assert AdapterDecoder(REQUEST).feed(noise + frame(REQUEST, 7, body)) == [AdapterFrame(7, body)]


def test_after_a_start_byte_in_noise_and_after_a_wrong_sum_the_next_frame_is_found():
    good = frame(REQUEST, 7, b"abc")
    for noise in (bytes([REQUEST]), bytes([REQUEST, 0, 0]), good[:-1] + b"\0", bytes([REQUEST, 255, 255])):
        decoder = AdapterDecoder(REQUEST)
        assert AdapterFrame(7, b"abc") in decoder.feed(noise + 300 * good)


def test_a_start_byte_right_before_a_frame_costs_nothing_and_a_frame_has_4096_bytes_at_most():
    good = frame(REQUEST, 7, bytes(20))
    assert AdapterDecoder(REQUEST).feed(bytes([REQUEST]) + good) == [AdapterFrame(7, bytes(20))]
    wrong = good[:-1] + bytes([good[-1] ^ 1])
    assert AdapterDecoder(REQUEST).feed(wrong + good) == [AdapterFrame(7, bytes(20))]
    assert AdapterDecoder(REQUEST).feed(frame(REQUEST, 7, bytes(4091))) == [AdapterFrame(7, bytes(4091))]
    assert AdapterDecoder(REQUEST).feed(frame(REQUEST, 7, bytes(4092)) + good) == [AdapterFrame(7, bytes(20))]


def test_a_frame_is_what_the_description_says():
    assert frame(REQUEST, 7, b"abc") == bytes((0xA5, 3, 0, 7, 97, 98, 99, (0xA5 + 3 + 7 + 97 + 98 + 99) & 0xFF))
    assert frame(REPLY, 1, bytes(300))[:4] == bytes((0x5A, 0x2C, 0x01, 1))
    body = encode_messages((I2cWrite(0x40, b"\x06"), I2cRead(0x41, 300), I2cWrite(0x42, bytes(258))))
    assert body == bytes((0x80, 1, 0, 6, 0x83, 0x2C, 1, 0x84, 2, 1)) + bytes(258)


def test_an_unfinished_frame_can_be_dropped():
    decoder, good = AdapterDecoder(REQUEST), frame(REQUEST, 7, b"abc")
    assert decoder.feed(good[:-1]) == []
    decoder.forget()
    assert decoder.feed(good) == [AdapterFrame(7, b"abc")]
