# SPDX-License-Identifier: Apache-2.0
"""Frames of smart servos: reference bytes of the manufacturers, their SDKs, and arbitrary bytes."""

import dynamixel_sdk
import pytest
import scservo_sdk
from hypothesis import given, settings
from hypothesis import strategies as st
from support.suite.soak import SOAK

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.protocols import dynamixel1, dynamixel2, feetech_sc, feetech_st, lx16a

TWO = {1: 2048, 2: 2048}
ALL = range(1, 19)
BROADCAST = ff_frames.BROADCAST

GOLDEN = {
    "AX: goal 512 speed 100": (
        ff_frames.sync_write_request(30, {i: dynamixel1.goal_row(512, 100) for i in (1, 2)}),
        "FF FF FE 0E 83 1E 04 01 00 02 64 00 02 00 02 64 00 7F",
    ),
    "AX: read the block": (ff_frames.read_request(1, *dynamixel1.BLOCK), "FF FF 01 04 02 24 08 CC"),
    "AX: torque on": (ff_frames.write_request(1, 24, b"\1"), "FF FF 01 04 03 18 01 DE"),
    "AX: torque off for all": (ff_frames.write_request(BROADCAST, 24, b"\0"), "FF FF FE 04 03 18 00 E2"),
    "AX: ping": (ff_frames.build(1, ff_frames.FFInstruction.PING), "FF FF 01 02 01 FB"),
    "ST: goal 2048 speed 1000": (
        ff_frames.sync_write_request(42, {i: feetech_st.goal_row(2048, 1000) for i in (1, 2)}),
        "FF FF FE 12 83 2A 06 01 00 08 00 00 E8 03 02 00 08 00 00 E8 03 53",
    ),
    "ST: with acceleration 50": (
        ff_frames.sync_write_request(41, {i: b"\x32" + feetech_st.goal_row(2048, 1000) for i in (1, 2)}),
        "FF FF FE 14 83 29 07 01 32 00 08 00 00 E8 03 02 32 00 08 00 00 E8 03 ED",
    ),
    "ST: sync read": (ff_frames.sync_read_request(56, 15, (1, 2)), "FF FF FE 06 82 38 0F 01 02 2F"),
    "ST: torque on": (ff_frames.write_request(1, 40, b"\1"), "FF FF 01 04 03 28 01 CE"),
    "ST: torque off for all": (ff_frames.write_request(BROADCAST, 40, b"\0"), "FF FF FE 04 03 28 00 D2"),
    "ST: position 2048": (ff_frames.build(1, 0, feetech_st.goal_row(2048, 0)[:2]), "FF FF 01 04 00 00 08 F2"),
    "SC: goal 512 in 20 ms": (
        ff_frames.sync_write_request(42, {1: feetech_sc.goal_row(512, 0.02)}),
        "FF FF FE 0B 83 2A 06 01 02 00 00 14 00 00 2C",
    ),
    "X: goal 2048": (
        dynamixel2.sync_write_request(116, {i: dynamixel2.goal_row(2048) for i in (1, 2)}),
        "FF FF FD 00 FE 11 00 83 74 00 04 00 01 00 08 00 00 02 00 08 00 00 68 4C",
    ),
    "X: sync read": (
        dynamixel2.sync_read_request(132, 4, (1, 2)),
        "FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA",
    ),
    "X: fast": (
        dynamixel2.fast_sync_read_request(132, 4, (1, 2)),
        "FF FF FD 00 FE 09 00 8A 84 00 04 00 01 02 4D 72",
    ),
    "X: torque on": (dynamixel2.write_request(1, 64, b"\1"), "FF FF FD 00 01 06 00 03 40 00 01 DB 66"),
    "X: torque off for all": (
        dynamixel2.write_request(BROADCAST, 64, b"\0"),
        "FF FF FD 00 FE 06 00 03 40 00 00 2E 16",
    ),
    "X: ping": (
        dynamixel2.build(1, dynamixel2.Dynamixel2Instruction.PING),
        "FF FF FD 00 01 03 00 01 19 4E",
    ),
    "X: reboot": (
        dynamixel2.build(1, dynamixel2.Dynamixel2Instruction.REBOOT),
        "FF FF FD 00 01 03 00 08 2F 4E",
    ),
    "X: read voltage and heat": (
        dynamixel2.read_request(1, 144, 3),
        "FF FF FD 00 01 07 00 02 90 00 03 00 1B 17",
    ),
    "X: watchdog 100 ms": (
        dynamixel2.write_request(BROADCAST, 98, b"\5"),
        "FF FF FD 00 FE 06 00 03 62 00 05 98 14",
    ),
    "LX: move to 500 in 20 ms": (lx16a.move(1, 500, 0.02), "55 55 01 07 01 F4 01 14 00 ED"),
    "LX: position": (lx16a.build(1, lx16a.Lx16aCommand.POSITION), "55 55 01 03 1C DF"),
    "LX: voltage": (lx16a.build(1, lx16a.Lx16aCommand.VOLTAGE), "55 55 01 03 1B E0"),
    "LX: heat": (lx16a.build(1, lx16a.Lx16aCommand.TEMPERATURE), "55 55 01 03 1A E1"),
    "LX: torque off": (lx16a.torque(1, 0), "55 55 01 04 1F 00 DB"),
    "LX: torque off for all": (lx16a.torque(BROADCAST, 0), "55 55 FE 04 1F 00 DE"),
    "LX: start": (lx16a.build(BROADCAST, lx16a.Lx16aCommand.START), "55 55 FE 03 0B F3"),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_frames_match_the_reference_bytes(name):
    frame, golden = GOLDEN[name]
    assert frame == bytes.fromhex(golden)


# --- the three codecs, under the same laws -----------------------------------------------------------


def p2_decoder():
    return dynamixel2.Dynamixel2Decoder()


CODECS = {
    "frames": (ff_frames.build, ff_frames.FFDecoder, ff_frames.HEADER),
    "dynamixel2": (dynamixel2.build, p2_decoder, dynamixel2.HEADER),
    "lx16a": (lx16a.build, lx16a.Lx16aDecoder, lx16a.HEADER),
}
codec = pytest.mark.parametrize("name", CODECS)

packets = st.builds(
    ff_frames.FFPacket,
    id=st.integers(0, BROADCAST),
    code=st.integers(0, 0x54),
    data=st.lists(st.sampled_from([b"\xff", b"\xfd", b"\x55", b"\0", b"\1", b"\xfe", b"\4"]), max_size=20).map(
        b"".join
    ),
)


def decoded(decoder, data, cuts=()):
    cuts = sorted(cut % (len(data) + 1) for cut in cuts)
    return [p for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) for p in decoder.feed(data[a:b])]


def in_order(needles, data):
    at = 0
    for needle in needles:
        at = data.find(needle, at)
        if at < 0:
            return False
        at += len(needle)
    return True


@codec
@given(sent=st.lists(packets, max_size=6), cuts=st.lists(st.integers(0, 400), max_size=8))
def test_frames_are_decoded_however_they_are_split(name, sent, cuts):
    build, decoder, _ = CODECS[name]
    assert decoded(decoder(), b"".join(build(*p) for p in sent), cuts) == sent


broken = st.lists(
    st.one_of(st.binary(max_size=8), packets, st.tuples(packets, st.integers(0, 300)), st.just("header")), max_size=8
)


@codec
@pytest.mark.soak
@settings(max_examples=300 if SOAK else 100)
@given(pieces=broken, cuts=st.lists(st.integers(0, 400), max_size=8))
def test_only_packets_present_in_the_bytes_are_decoded_however_they_are_split(name, pieces, cuts):
    build, decoder, header = CODECS[name]
    data = b""
    for piece in pieces:
        if piece == "header":
            data += header
        elif isinstance(piece, bytes):
            data += piece
        elif isinstance(piece, ff_frames.FFPacket):
            data += build(*piece)
        else:  # one bit wrong
            frame, bit = bytearray(build(*piece[0])), piece[1]
            frame[bit // 8 % len(frame)] ^= 1 << bit % 8
            data += bytes(frame)
    found = decoded(decoder(), data, cuts)
    assert found == decoded(decoder(), data)
    if name != "dynamixel2":  # there a status of all servos is without stuffing, so not what build makes
        assert in_order([build(*p) for p in found], data)
    else:
        assert in_order([build(*p) for p in found if p.code != 0x55], data)


@codec
def test_a_frame_whose_last_byte_could_begin_another_leaves_nothing_behind(name):
    build, decoder, header = CODECS[name]
    frames_so = (build(servo, 3, bytes((value,))) for servo in range(BROADCAST) for value in range(256))
    first = next(frame for frame in frames_so if frame[-1] == header[0])
    second = build(5, 0, b"")
    split = decoder()
    assert split.feed(first) + split.feed(second) == decoder().feed(first + second)


def status(name, servo):
    """A status as a servo sends it, and a decoder that awaits it from servos 1 to 18."""
    data = bytes((0, servo, 8))  # the first byte is the error
    if name == "frames":
        return ff_frames.build(servo, 0, data[1:]), ff_frames.FFDecoder(ALL, 2)
    if name == "dynamixel2":
        return dynamixel2.build(servo, 0x55, data), dynamixel2.Dynamixel2Decoder(ALL, 3)
    return lx16a.build(servo, lx16a.Lx16aCommand.POSITION, data[1:]), lx16a.Lx16aDecoder(
        None, lx16a.Lx16aCommand.POSITION, 2
    )


@codec
@pytest.mark.parametrize("damage", ["truncated", "bit flipped", "missing", "noise", "a second time", "a lone header"])
def test_a_broken_status_does_not_discard_a_valid_one(name, damage):
    whole = {servo: status(name, servo)[0] for servo in ALL}
    for at in range(len(whole[5]) * 8 if damage == "bit flipped" else len(whole[5])):
        sent, wanted = dict(whole), set(ALL)
        if damage == "truncated":
            sent[5] = sent[5][:at]
            wanted -= {5}
        elif damage == "bit flipped":
            frame = bytearray(sent[5])
            frame[at // 8] ^= 1 << at % 8
            sent[5] = bytes(frame)
            wanted -= {5}
        elif damage == "missing":
            sent[5] = b""
            wanted -= {5}
        elif damage == "noise":
            sent[5] = bytes(range(250, 256)) * at + sent[5]
        elif damage == "a lone header":
            sent[5] = CODECS[name][2] + sent[5]
        else:
            sent[5] *= 2
        found = decoded(status(name, 5)[1], b"".join(sent.values()))
        assert {p.id for p in found} == wanted
        assert all(p.data[-2] == p.id for p in found)


@codec
def test_statuses_with_unknown_ids_or_wrong_lengths_are_rejected(name):
    decoder = status(name, 1)[1]
    stranger = status(name, 1 + len(ALL))[0] if name != "lx16a" else b""
    longer = {
        "frames": ff_frames.build(1, 0, b"123"),
        "dynamixel2": dynamixel2.build(1, 0x55, b"1234"),
        "lx16a": lx16a.build(1, lx16a.Lx16aCommand.POSITION, b"123"),
    }[name]
    good = status(name, 1)[0]
    assert len(decoded(decoder, stranger + longer + good)) == 1


def test_the_echo_of_a_request_is_not_a_status():
    request = ff_frames.read_request(1, 56, 2)  # as a status: servo 1, error 2, two bytes of data
    decoder = ff_frames.FFDecoder([1], 2, echo=request)
    assert decoded(decoder, request + ff_frames.build(1, 0, b"\0\x08"), range(20)) == [(1, 0, b"\0\x08")]


@pytest.mark.parametrize(
    ("rest", "end"),
    [("", ""), ("01", ""), ("01ff", "ff"), ("ffffff", "ffff"), ("01ffff", "ffff"), ("fffffd", ""), ("fffffdff", "ff")],
)
def test_only_an_incomplete_header_at_the_end_is_kept(rest, end):
    assert ff_frames.tail(bytes.fromhex(rest), b"\xff\xff\xfd") == bytes.fromhex(end)


def test_a_header_in_the_data_survives_byte_stuffing():
    data = b"\xff\xff\xfd\xff\xff\xfd\xfd\x00\xff\xfd\xfd"
    frame = dynamixel2.build(1, 3, data)
    assert frame[7:].count(b"\xff\xff\xfd\xfd") == 2
    assert frame[5:7] == bytes((len(data) + 3 + 2, 0))
    assert decoded(dynamixel2.Dynamixel2Decoder(), frame) == [(1, 3, data)]


def test_a_frame_without_the_required_byte_stuffing_is_rejected():
    frame = dynamixel2.HEADER + bytes.fromhex("01 07 00 03 FF FF FD 01")
    decoder = dynamixel2.Dynamixel2Decoder()
    assert decoded(decoder, frame + dynamixel2.crc(frame).to_bytes(2, "little")) == []
    assert decoder.bad == 1


@pytest.mark.parametrize("value", [0, 1, -1, 511, -512, 1023, -1023, 4095, -4095, 32767, -32767])
def test_sign_and_magnitude_survive_a_round_trip(value):
    for bit in (10, 11, 15):
        if abs(value) < 1 << bit:
            assert ff_frames.signed(ff_frames.sign_magnitude(value, bit), bit) == value


def test_sign_and_magnitude_are_limited_to_what_fits():
    assert ff_frames.sign_magnitude(-5000, 10) == 0x7FF
    assert ff_frames.signed(0x8064, 15) == -100
    assert ff_frames.signed(0x0464, 10) == -100


@pytest.mark.parametrize("build", [ff_frames.build, dynamixel2.build])
def test_data_that_do_not_fit_are_refused(build):
    with pytest.raises(ValueError, match="do not fit"):
        build(1, 3, bytes(1100))


@pytest.mark.parametrize("sync_write_request", [ff_frames.sync_write_request, dynamixel2.sync_write_request])
def test_rows_of_different_lengths_are_refused(sync_write_request):
    with pytest.raises(ValueError, match="one length"):
        sync_write_request(30, {1: b"12", 2: b"1"})


# --- the makers' SDKs --------------------------------------------------------------------------------


class Sheet:
    """A port of an SDK that records what is sent and returns given replies."""

    is_using = False

    def __init__(self, answer=b""):
        self.frame, self.answer = b"", answer

    def clearPort(self):  # noqa: N802
        pass

    def writePort(self, packet):  # noqa: N802
        self.frame = bytes(packet)
        return len(packet)

    def readPort(self, count):  # noqa: N802
        data, self.answer = self.answer[:count], self.answer[count:]
        return list(data)

    def setPacketTimeout(self, length):  # noqa: N802
        pass

    def isPacketTimeout(self):  # noqa: N802
        return not self.answer


ids = st.lists(st.integers(0, 252), min_size=1, max_size=18, unique=True)
goals = st.dictionaries(st.integers(0, 252), st.integers(0, 4095), min_size=1, max_size=18)


@given(goals, st.integers(0, 1023))
def test_protocol_1_is_that_of_the_makers_sdk(goals, speed):
    sheet, sdk = Sheet(), dynamixel_sdk.Protocol1PacketHandler()
    group = dynamixel_sdk.GroupSyncWrite(sheet, sdk, 30, 4)
    rows = {i: dynamixel1.goal_row(goal, speed) for i, goal in goals.items()}
    for servo, row in rows.items():
        group.addParam(servo, row)
    group.txPacket()
    assert sheet.frame == ff_frames.sync_write_request(30, rows)
    for servo, goal in goals.items():
        sheet.is_using = False
        sdk.write2ByteTxOnly(sheet, servo, 30, goal)
        assert sheet.frame == ff_frames.write_request(servo, 30, goal.to_bytes(2, "little"))
        sdk.readTx(sheet, servo, 36, 8)
        assert sheet.frame == ff_frames.read_request(servo, 36, 8)


@given(st.integers(0, 252), st.binary(min_size=8, max_size=8), st.integers(0, 0x7F))
def test_the_makers_sdk_reads_our_protocol_1_status(servo, data, error):
    sheet = Sheet(ff_frames.build(servo, error, data))
    read, result, status = dynamixel_sdk.Protocol1PacketHandler().readTxRx(sheet, servo, 36, 8)
    assert (bytes(read), result, status) == (data, 0, error)


@given(goals, st.integers(0, 32767), st.integers(0, 254))
def test_st_frames_are_those_of_the_makers_sdk(goals, speed, acceleration):
    sheet = Sheet()
    sdk = scservo_sdk.sms_sts(sheet)
    for servo, goal in goals.items():
        sdk.SyncWritePosEx(servo, goal, speed, acceleration)
    sdk.groupSyncWrite.txPacket()
    rows = {i: bytes((acceleration,)) + feetech_st.goal_row(goal, speed) for i, goal in goals.items()}
    assert sheet.frame == ff_frames.sync_write_request(feetech_st.FeetechStRegister.ACCELERATION, rows)
    group = scservo_sdk.GroupSyncRead(sdk, 56, 8)
    for servo in goals:
        group.addParam(servo)
    group.txPacket()
    assert sheet.frame == ff_frames.sync_read_request(56, 8, goals)


@given(st.integers(-32767, 32767), st.integers(-32767, 32767))
def test_the_makers_sdk_reads_the_same_numbers_with_sign(position, speed):
    data = feetech_st.goal_row(position, 0)[:2] + feetech_st.goal_row(speed, 0)[:2]
    sheet = Sheet(ff_frames.build(3, 0, data))
    reading = scservo_sdk.sms_sts(sheet).ReadPosSpeed(3)
    ours = feetech_st.decode(0, data)
    assert reading[:3] == (position, speed, 0)
    assert (ours.position, ours.speed) == (position, speed)


@given(goals, st.integers(0, 9999))
def test_sc_frames_are_those_of_the_makers_sdk(goals, milliseconds):
    sheet = Sheet()
    sdk = scservo_sdk.scscl(sheet)
    for servo, goal in goals.items():
        sdk.SyncWritePos(servo, goal, milliseconds, 0)
    sdk.groupSyncWrite.txPacket()
    rows = {i: feetech_sc.goal_row(goal, milliseconds / 1000) for i, goal in goals.items()}
    assert sheet.frame == ff_frames.sync_write_request(feetech_sc.FeetechScRegister.GOAL, rows)


@given(st.binary(max_size=200))
def test_the_crc_of_protocol_2_is_that_of_the_makers_sdk(data):
    assert dynamixel2.crc(data) == dynamixel_sdk.Protocol2PacketHandler().updateCRC(0, data, len(data))


def test_the_crc_of_protocol_2_is_crc_16_buypass():
    assert dynamixel2.crc(b"123456789") == 0xFEE8  # check value in the catalogue of CRC algorithms


@given(ids, st.integers(0, 200), st.integers(1, 20), st.binary(min_size=1, max_size=20))
def test_protocol_2_is_that_of_the_makers_sdk(servos, address, length, data):
    sheet, sdk = Sheet(), dynamixel_sdk.Protocol2PacketHandler()
    sdk.syncReadTx(sheet, address, length, servos, len(servos), False)
    assert sheet.frame == dynamixel2.sync_read_request(address, length, servos)
    sheet.is_using = False
    sdk.syncReadTx(sheet, address, length, servos, len(servos), True)
    assert sheet.frame == dynamixel2.fast_sync_read_request(address, length, servos)
    sheet.is_using = False
    if b"\xff\xff\xfd" not in data:
        sdk.writeTxOnly(sheet, servos[0], address, len(data), data)
        assert sheet.frame == dynamixel2.write_request(servos[0], address, data)


@given(st.integers(0, 252), st.binary(min_size=4, max_size=4))
def test_the_makers_sdk_reads_our_protocol_2_status(servo, data):
    sheet = Sheet(dynamixel2.build(servo, 0x55, b"\0" + data))
    read, result, _ = dynamixel_sdk.Protocol2PacketHandler().readTxRx(sheet, servo, 132, 4)
    assert (bytes(read), result) == (data, 0)


@given(st.lists(st.integers(0, 252), min_size=2, max_size=18, unique=True))
def test_the_makers_sdk_and_we_read_a_fast_status_alike(servos):
    status = dynamixel2.HEADER + bytes((BROADCAST,))
    status += (dynamixel2.fast_size(4, len(servos)) - 7).to_bytes(2, "little") + b"\x55"
    for servo in servos:
        status += bytes((0, servo)) + dynamixel2.goal_row(servo)
        status += dynamixel2.crc(status).to_bytes(2, "little")
    assert len(status) == dynamixel2.fast_size(4, len(servos))
    group = dynamixel_sdk.GroupSyncRead(Sheet(status), dynamixel_sdk.Protocol2PacketHandler(), 132, 4)
    for servo in servos:
        group.addParam(servo)
    assert group.fastSyncReadRxPacket() == 0
    [packet] = decoded(dynamixel2.Dynamixel2Decoder([BROADCAST], len(status) - 10), status)
    rows = dynamixel2.fast_rows(packet.data, 4)
    assert {i: row[1:] for i, row in rows.items()} == {i: bytes(group.data_dict[i]) for i in servos}
