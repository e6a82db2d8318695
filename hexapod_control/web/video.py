# SPDX-License-Identifier: Apache-2.0
"""Images of a camera as H.264, for the Media Source Extensions of browsers; needs PyAV (>= 10), which is optional.

Every image becomes one fragment of MP4 (ISO/IEC 14496-12, 8.8) at once: libx264 without look-ahead, so that no picture
refers to a later one. A fragment refers to those before it, back to the last key frame.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

try:
    import av
except ImportError:
    av = None  # type: ignore[assignment]

QUANTIZER = 23  # of all pictures, so that quality depends neither on their rate nor on what was before
KEY_PERIOD = 150  # pictures from one key frame to the next at most: a page can then forget what is older
TICKS_PER_S = 1000
MAX_RATE = 30  # [Hz] by which the level of the video is chosen: decoders refuse what is beyond theirs
STEP = 20  # [ticks] of a picture: shorter than the time between two images, so that a player never waits to show one
COLORS = {"colorspace": "smpte170m", "color_primaries": "bt709", "color_trc": "iec61966-2-1"}  # those of JPEG
SUPPORTED = {"jpeg": "mjpeg", "png": "png"}  # format of an image, and the name of its decoder
_START = b"\0\0\1"  # before every unit of H.264 in the byte stream format (ITU-T H.264, annex B)
_PARAMETERS = (7, 8)  # types of the units that are in the header: sequence and picture parameter set
_KEY = 0x0200_0000  # flags of a sample that depends on no other
_PLAIN = 0x0101_0000  # of one that does


class VideoError(ValueError):
    """An image that cannot be encoded."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """One picture of a video; `header` is what a player needs before the first one, and `codec` its name (RFC 6381)."""

    data: bytes
    key: bool
    header: bytes
    codec: str


def can_encode() -> bool:
    """Whether there is PyAV with an encoder of H.264."""
    return av is not None and "libx264" in av.codecs_available


class VideoEncoder:
    """Encodes images one after the other. Images of another size begin a new video, with a header of its own."""

    def __init__(self) -> None:
        self._stream: _Stream | None = None

    def encode(self, image: bytes, kind: str, *, key: bool) -> Fragment:
        """Encodes an image of a format in SUPPORTED, as a key frame if asked to. Raises VideoError."""
        try:
            frame = _decoded(image, kind)
            size = frame.width, frame.height
            if self._stream is None or self._stream.size != size:
                self._stream = _Stream(size)
            return self._stream.encode(frame, key)
        except (av.error.FFmpegError, KeyError, ValueError) as error:
            raise VideoError(f"the image cannot be encoded: {error}") from None


def _decoded(image: bytes, kind: str) -> Any:
    """The only frame in the data of an image, with planes of brightness and colour as JPEG has them."""
    decoder: Any = av.CodecContext.create(SUPPORTED[kind], "r")  # a used one would add up PNG images
    (frame,) = decoder.decode(av.Packet(image))
    if frame.width % 2 or frame.height % 2:
        raise ValueError(f"its size must be even, is {frame.width} x {frame.height}")
    return frame if frame.format.name == "yuvj420p" else frame.reformat(format="yuvj420p")


class _Stream:
    """The encoder of images of one size."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self._encoder: Any = av.CodecContext.create("libx264", "w")
        self._encoder.width, self._encoder.height = size
        self._encoder.pix_fmt = "yuvj420p"
        self._encoder.time_base = Fraction(1, TICKS_PER_S)
        self._encoder.framerate = Fraction(MAX_RATE)
        self._encoder.thread_count = 1
        self._encoder.options = {
            "preset": "ultrafast",
            "tune": "zerolatency",
            "qp": str(QUANTIZER),
            "g": str(KEY_PERIOD),
            "forced-idr": "1",
            **COLORS,
        }
        self._header = b""
        self._codec = ""
        self._count = 0

    def encode(self, frame: Any, key: bool) -> Fragment:
        frame.pts = self._count * STEP
        frame.time_base = Fraction(1, TICKS_PER_S)
        frame.pict_type = int(key)  # 1 is a key frame, 0 the encoder's choice
        (packet,) = self._encoder.encode(frame)
        units = [(unit[0] & 31, unit) for unit in _units(bytes(packet))]
        if not self._header:
            sequence, picture = (next(unit for kind, unit in units if kind == wanted) for wanted in _PARAMETERS)
            self._header = _header(self.size, sequence, picture)
            self._codec = f"avc1.{sequence[1:4].hex()}"
        sample = b"".join(struct.pack(">I", len(unit)) + unit for kind, unit in units if kind not in _PARAMETERS)
        self._count += 1
        data = _fragment(self._count, frame.pts, sample, packet.is_keyframe)
        return Fragment(data, packet.is_keyframe, self._header, self._codec)


def _units(stream: bytes) -> Iterator[bytes]:
    """The units of H.264 in a byte stream; a zero before a start code belongs to none of them."""
    return (unit.rstrip(b"\0") for unit in stream.split(_START)[1:])


def _header(size: tuple[int, int], sequence: bytes, picture: bytes) -> bytes:
    """A file without samples: one track of H.264 with these parameter sets, whose samples follow in fragments."""
    matrix = struct.pack(">9I", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    count = struct.pack(">B", 1)
    sets = [struct.pack(">H", len(each)) + each for each in (sequence, picture)]
    lengths = b"\xff\xe1"  # of units have four bytes; there is one sequence parameter set
    settings = _box(b"avcC", count, sequence[1:4], lengths, sets[0], count, sets[1])
    resolution = struct.pack(">II", 72 << 16, 72 << 16)
    shown = struct.pack(">4xH32xHh", 1, 24, -1)  # frames of a sample, no name, bits of a pixel, no palette
    entry = _box(b"avc1", struct.pack(">6xH16x", 1), struct.pack(">HH", *size), resolution, shown, settings)
    tables = [_box(kind, bytes(8)) for kind in (b"stts", b"stsc", b"stco")]  # all empty
    samples = [_box(b"stsd", struct.pack(">II", 0, 1), entry), *tables, _box(b"stsz", bytes(12))]
    here = _box(b"dref", struct.pack(">II", 0, 1), _box(b"url ", struct.pack(">I", 1)))
    media = _box(b"minf", _box(b"vmhd", struct.pack(">I8x", 1)), _box(b"dinf", here), _box(b"stbl", *samples))
    clock = _box(b"mdhd", struct.pack(">12xIIHH", TICKS_PER_S, 0, 0x55C4, 0))  # no language
    handler = _box(b"hdlr", struct.pack(">8x4s13x", b"vide"))
    place = struct.pack(">I8xI24x", 3, 1) + matrix + struct.pack(">II", *(each << 16 for each in size))
    track = _box(b"trak", _box(b"tkhd", place), _box(b"mdia", clock, handler, media))
    film = struct.pack(">12xIIIH10x", TICKS_PER_S, 0, 1 << 16, 1 << 8) + matrix + struct.pack(">24xI", 2)
    extended = _box(b"mvex", _box(b"trex", struct.pack(">III12x", 0, 1, 1)))
    brands = _box(b"ftyp", b"iso5", struct.pack(">I", 512), b"iso5iso6mp41")
    return brands + _box(b"moov", _box(b"mvhd", film), track, extended)


def _fragment(number: int, ticks: int, sample: bytes, key: bool) -> bytes:
    """A fragment with one sample at a time [ticks]."""

    def moof(offset: int) -> bytes:
        run = struct.pack(">IiIII", 1, offset, STEP, len(sample), _KEY if key else _PLAIN)
        return _box(
            b"moof",
            _box(b"mfhd", struct.pack(">II", 0, number)),
            _box(
                b"traf",
                _box(b"tfhd", struct.pack(">II", 0x02_0000, 1)),  # offsets count from the start of the moof
                _box(b"tfdt", struct.pack(">IQ", 0x0100_0000, ticks)),
                _box(b"trun", struct.pack(">I", 0x701), run),  # with offset, and duration, size and flags of the sample
            ),
        )

    return moof(len(moof(0)) + 8) + _box(b"mdat", sample)


def _box(kind: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I4s", 8 + len(content), kind) + content
