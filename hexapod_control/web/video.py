# SPDX-License-Identifier: Apache-2.0
"""Images of a camera as H.264, for the Media Source Extensions of browsers; needs PyAV (>= 10), which is optional.

Every image becomes one fragment of MP4 (ISO/IEC 14496-12, 8.8) at once: libx264 without look-ahead, so that no picture
refers to a later one. A fragment refers to those before it, back to the last key frame.
"""

from __future__ import annotations

import io
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
STEP = 20  # [ticks] of a picture: shorter than the time between two images, so that a player never waits to show one
SUPPORTED = {"jpeg": "mjpeg", "png": "png"}  # format of an image, and the name of its decoder
_START = b"\0\0\1"  # before every unit of H.264 in the byte stream format (ITU-T H.264, annex B)
_PARAMETERS = (7, 8)  # types of the units that the header of the file contains
_PLAIN, _KEY = 0x0101_0000, 0x0200_0000  # flags of a sample: depends on others, or not


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
        self._decoders: dict[str, Any] = {}
        self._stream: _Stream | None = None

    def encode(self, image: bytes, kind: str, *, key: bool) -> Fragment:
        """Encodes an image of a format in SUPPORTED, as a key frame if asked to. Raises VideoError."""
        try:
            frame = self._decode(image, kind)
            size = frame.width, frame.height
            if self._stream is None or self._stream.size != size:
                self._stream = _Stream(size)
            return self._stream.encode(frame, key)
        except (av.error.FFmpegError, KeyError, ValueError) as error:
            raise VideoError(f"the image cannot be encoded: {error}") from None

    def _decode(self, image: bytes, kind: str) -> Any:
        """The only frame in the data of an image, with planes of brightness and colour as JPEG has them."""
        decoder: Any = self._decoders.pop(kind, None) or av.CodecContext.create(SUPPORTED[kind], "r")
        (frame,) = decoder.decode(av.Packet(image))
        self._decoders[kind] = decoder  # one that failed is not used again
        if frame.width % 2 or frame.height % 2:
            raise VideoError(f"the size of the image must be even, is {frame.width} x {frame.height}")
        return frame if frame.format.name == "yuvj420p" else frame.reformat(format="yuvj420p")


class _Stream:
    """The encoder of images of one size."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        header = io.BytesIO()
        moves = {"movflags": "empty_moov+default_base_moof+frag_custom", "video_track_timescale": str(TICKS_PER_S)}
        self._file = av.open(header, "w", format="mp4", options=moves)
        stream: Any = self._file.add_stream("libx264")
        self._encoder = stream.codec_context
        self._encoder.width, self._encoder.height = size
        self._encoder.pix_fmt = "yuvj420p"
        self._encoder.time_base = stream.time_base = Fraction(1, TICKS_PER_S)
        self._encoder.thread_count = 1
        self._encoder.options = {
            "preset": "ultrafast",
            "tune": "zerolatency",
            "qp": str(QUANTIZER),
            "g": str(KEY_PERIOD),
            "forced-idr": "1",
            "colorspace": "smpte170m",  # that of JPEG
        }
        self._file.start_encoding()
        self._header = header.getvalue()
        profile = next(unit for unit in _units(self._encoder.extradata) if unit[0] & 31 == _PARAMETERS[0])[1:4]
        self._codec = f"avc1.{profile.hex()}"
        self._count = 0

    def encode(self, frame: Any, key: bool) -> Fragment:
        frame.pts = self._count * STEP
        frame.time_base = self._encoder.time_base
        frame.pict_type = int(key)  # 1 is a key frame, 0 the encoder's choice
        (packet,) = self._encoder.encode(frame)
        units = [unit for unit in _units(bytes(packet)) if unit[0] & 31 not in _PARAMETERS]
        sample = b"".join(struct.pack(">I", len(unit)) + unit for unit in units)
        self._count += 1
        data = _fragment(self._count, frame.pts, sample, packet.is_keyframe)
        return Fragment(data, packet.is_keyframe, self._header, self._codec)


def _units(stream: bytes) -> Iterator[bytes]:
    """The units of H.264 in a byte stream; a zero before a start code belongs to none of them."""
    return (unit.rstrip(b"\0") for unit in stream.split(_START)[1:])


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
