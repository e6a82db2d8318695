# SPDX-License-Identifier: Apache-2.0
"""Writes and reads bags as MCAP files with rosbags; the definitions of all messages are part of the file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.rosbag2.errors import ReaderError, WriterError
from rosbags.typesys import Stores, get_typestore

from hexapod_control.bags.ring_buffer import RecordedMessage

FORMAT_VERSION: Literal[9] = 9  # version of the format that Jazzy writes
UNLIMITED = QosTime(9223372036, 854775807)
SPARE_BYTES = 8 * 1024 * 1024  # left free on the disk
TYPES = get_typestore(Stores.ROS2_JAZZY)


class BagError(RuntimeError):
    """A bag that cannot be written or read; the message has the remedy."""


@dataclass(frozen=True, slots=True)
class BagChannel:
    """A topic of a bag."""

    topic: str
    kind: str  # e.g. std_msgs/msg/String
    reliable: bool = True
    latched: bool = False


def has_definition(kind: str) -> bool:
    """True if the definition of a message type is known, so that a bag can contain it."""
    return kind in TYPES.fielddefs


def new_bag_path(folder: Path, size: int, name: str) -> Path:
    """Returns an unused path in a folder, which is created if missing.

    Raises BagError if the folder is not writable or its disk has no room for `size` bytes.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise BagError(f"{folder}: no bag can be written there: {error.strerror}; choose another folder") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BagError(f"{folder}: no bag can be written there: it is read-only; choose another folder")
    if free < size + SPARE_BYTES:
        raise BagError(
            f"{folder}: no bag can be written there: it may take {size / 1e6:.0f} MB and {free / 1e6:.0f} MB are free; "
            "make room, or choose another folder"
        )
    numbers = ("", *(f"_{k}" for k in range(2, 1000)))
    return next(path for path in (folder / f"{name}{number}" for number in numbers) if not path.exists())


class BagWriter:
    """A bag that is open for writing."""

    def __init__(self, writer: Writer, offset: int) -> None:
        """`offset` [ns] converts the times of messages to times since the epoch."""
        self._writer = writer
        self._offset = offset
        self._connections: dict[str, Any] = {}  # by topic
        self.count = 0  # of written messages

    def add(self, channel: BagChannel) -> None:
        """Adds a topic; again if its quality of service has changed."""
        profile = _quality(channel)
        self._connections[channel.topic] = self._writer.add_connection(
            channel.topic, channel.kind, typestore=TYPES, offered_qos_profiles=[profile]
        )

    def has(self, topic: str) -> bool:
        """True if the bag has this topic."""
        return topic in self._connections

    def write(self, message: RecordedMessage) -> None:
        """Appends a message; one of another topic is left out."""
        connection = self._connections.get(message.topic)
        if connection is not None:
            self._writer.write(connection, message.at + self._offset, message.data)
            self.count += 1


@contextmanager
def writing(path: Path, offset: int) -> Iterator[BagWriter]:
    """Opens a new bag for writing and completes it at the end; `offset` as for `BagWriter`.

    Raises BagError and removes the unfinished bag.
    """
    try:
        writer = Writer(path, version=FORMAT_VERSION, storage_plugin=StoragePlugin.MCAP)
    except WriterError as error:
        raise BagError(f"{path}: the bag was not written: {error}") from None
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    try:
        with writer:
            yield BagWriter(writer, offset)
    except (OSError, WriterError) as error:
        shutil.rmtree(path, ignore_errors=True)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BagError(f"{path}: the bag was not written: {reason}; make room, or choose another folder") from None


def write(path: Path, channels: Sequence[BagChannel], messages: Sequence[RecordedMessage], offset: int) -> int:
    """Writes a bag at once. Returns the number of its messages. Raises as `writing`."""
    with writing(path, offset) as out:
        for channel in channels:
            out.add(channel)
        for message in messages:
            out.write(message)
    return out.count


def _quality(channel: BagChannel) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        1 if channel.latched else 10,
        QosReliability.RELIABLE if channel.reliable else QosReliability.BEST_EFFORT,
        QosDurability.TRANSIENT_LOCAL if channel.latched else QosDurability.VOLATILE,
        UNLIMITED,
        UNLIMITED,
        QosLiveliness.AUTOMATIC,
        UNLIMITED,
        False,
    )


class Bag:
    """A bag that is open for reading."""

    def __init__(self, reader: Reader, path: Path) -> None:
        self.path = path
        self._reader = reader
        self.start: int = reader.start_time  # [ns] since the epoch
        self.seconds: float = max(0.0, 1e-9 * (reader.end_time - reader.start_time))
        self.channels = tuple(_channel(connection) for connection in reader.connections)

    @property
    def namespace(self) -> str:
        """Namespace of the recorded robot, e.g. /a; empty for none. Raises BagError for a bag of several robots."""
        found = {
            c.topic.rpartition("/")[0] for c in self.channels if c.topic.endswith(("/joint_states", "/gait_state"))
        }
        if len(found) > 1:
            raise BagError(f"{self.path}: has several robots: {', '.join(sorted(found))}; record with --namespace")
        return next(iter(found), "")

    def raw(self, topics: Collection[str]) -> Iterator[tuple[int, str, bytes]]:
        """Yields time [ns] since the epoch, topic and serialized message of these topics, in recorded order."""
        wanted = [connection for connection in self._reader.connections if connection.topic in topics]
        if wanted:
            for connection, at, data in self._reader.messages(wanted):
                yield at, connection.topic, bytes(data)

    def messages(self, topic: str) -> Iterator[tuple[float, Any]]:
        """Yields time [s] since the start of the bag and message of a topic."""
        kinds = {channel.topic: channel.kind for channel in self.channels}
        for at, name, data in self.raw({topic}):
            yield 1e-9 * (at - self.start), TYPES.deserialize_cdr(data, kinds[name])


def _channel(connection: Any) -> BagChannel:
    profiles = connection.ext.offered_qos_profiles
    return BagChannel(
        connection.topic,
        connection.msgtype,
        any(profile.reliability == QosReliability.RELIABLE for profile in profiles) if profiles else True,
        any(profile.durability == QosDurability.TRANSIENT_LOCAL for profile in profiles),
    )


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """Opens a bag, given as its folder or its file, and closes it at the end. Raises BagError."""
    reader = _guarded(path, lambda: Reader(path))
    _guarded(path, reader.open)
    try:
        yield Bag(reader, path)
    finally:
        reader.close()


def _guarded(path: Path, act: Callable[[], Any]) -> Any:
    try:
        return act()
    except FileNotFoundError:
        raise BagError(f"{path}: there is no such bag") from None
    except (ReaderError, OSError, KeyError, AssertionError) as error:
        raise BagError(f"{path}: is no bag that can be read: {error}") from None
