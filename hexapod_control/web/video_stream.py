# SPDX-License-Identifier: Apache-2.0
"""Which page gets which pictures of a video: one encoder for all, in a thread of its own, encodes what is asked for.

A page asks for the next picture when it has shown the last. It then also gets the few that were encoded for others in
the meantime; a page that lags behind by more than two key frames are worth goes on with the next key frame.
"""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hexapod_control.web.video import Fragment, VideoEncoder, VideoError

MAX_MISSED = 2.0  # size of the pictures that are kept for a page, in sizes of a key frame
KEY_GAP = 15  # pictures between two key frames for pages that lag behind; one for a newcomer comes at once
MAX_SILENCE = 300  # pictures after which a page that asks for none is forgotten
MAX_END_S = 2.0
Fields = Mapping[str, Any]


@dataclass(slots=True)
class _Viewer:
    """A page; `missed` are the pictures that it needs to show the newest one, empty if only a key frame can help."""

    waits: bool = True
    new: bool = True  # it gets a header and a key frame
    header: bytes = b""  # that it has been given
    missed: list[Fragment] = field(default_factory=list)
    follows: bool = False  # it can show the next picture, after those that it has missed
    silence: int = 0  # pictures since its last request


class Viewers:
    """The pages that show a video."""

    def __init__(self) -> None:
        self._viewers: dict[int, _Viewer] = {}
        self._key_size = 0  # bytes of the last key frame
        self._since_key = 0  # pictures

    def request(self, page: int, *, anew: bool) -> None:
        """Notes that a page has shown what it was sent, or begins `anew`."""
        known = None if anew else self._viewers.get(page)
        viewer = self._viewers[page] = known or _Viewer()
        viewer.waits = True
        viewer.silence = 0

    @property
    def waiting(self) -> list[int]:
        """The pages that wait for a picture."""
        return [page for page, viewer in self._viewers.items() if viewer.waits]

    @property
    def key_wanted(self) -> bool:
        """Whether a page waits that only a key frame can help, and one is due."""
        lost = [viewer for viewer in self._viewers.values() if viewer.waits and not viewer.follows]
        return any(viewer.new or self._since_key >= KEY_GAP for viewer in lost)

    def answer(self) -> list[int]:
        """The pages that wait, which get something else than a picture of the video."""
        pages = self.waiting
        for page in pages:
            self._viewers[page].waits = False
        return pages

    def deliver(self, fragment: Fragment) -> dict[int, Fields]:
        """What the pages that wait get with the next picture of the video."""
        self._since_key = 0 if fragment.key else self._since_key + 1
        if fragment.key:
            self._key_size = len(fragment.data)
        sent: dict[int, Fields] = {}
        for page, viewer in list(self._viewers.items()):
            viewer.silence += 1
            if viewer.silence > MAX_SILENCE:
                del self._viewers[page]
                continue
            if fragment.key:
                viewer.follows = True
                viewer.missed.clear()
            if viewer.follows:
                viewer.missed.append(fragment)
                if viewer.waits:
                    sent[page] = self._sent(viewer)
                elif sum(len(each.data) for each in viewer.missed) > MAX_MISSED * self._key_size:
                    viewer.follows = False
                    viewer.missed.clear()
        return sent

    @staticmethod
    def _sent(viewer: _Viewer) -> Fields:
        first = viewer.missed[0]
        data = b"".join(each.data for each in viewer.missed)
        fields = {"format": "h264", "data": _text(data), "count": len(viewer.missed), "key": first.key}
        if viewer.header != first.header:
            fields |= {"header": _text(first.header), "codec": first.codec}
        viewer.header = first.header
        viewer.missed.clear()
        viewer.waits = viewer.new = False
        return fields


class VideoStream:
    """Encodes images for the pages that wait for one; an image that cannot be encoded is sent as it is."""

    def __init__(self, send: Callable[[int, Fields], None]) -> None:
        """`send(page, fields)` is called by the thread of the encoder."""
        self._send = send
        self._viewers = Viewers()
        self._changed = threading.Condition()
        self._next: tuple[bytes, str, Callable[[], Fields]] | None = None
        self._ended = False
        self._thread: threading.Thread | None = None

    def request(self, page: int, *, anew: bool) -> None:
        """Sends the next picture to a page, with all that it needs if it begins anew."""
        with self._changed:
            self._viewers.request(page, anew=anew)

    def take(self, image: bytes, kind: str, about: Callable[[], Fields]) -> None:
        """Encodes an image of a format, `jpeg` or `png`, if a page waits; it replaces one that is not yet encoded.

        `about()` gives further fields of the message when it is sent.
        """
        with self._changed:
            if not self._viewers.waiting:
                return
            self._next = image, kind, about
            self._changed.notify()
        if self._thread is None:
            self._ended = False
            self._thread = threading.Thread(target=self._run, name="video", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ends the thread and forgets all pages; the next image starts it again."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(MAX_END_S)
        self._thread = None
        self._viewers = Viewers()

    def _run(self) -> None:
        encoder = VideoEncoder()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._next is not None)
                taken, self._next = self._next, None
            if self._ended or taken is None:
                return
            image, kind, about = taken
            for page, fields in self._messages(encoder, image, kind):
                self._send(page, {**fields, **about()})

    def _messages(self, encoder: VideoEncoder, image: bytes, kind: str) -> list[tuple[int, Fields]]:
        with self._changed:
            if not self._viewers.waiting:  # the last image was enough for all
                return []
            key = self._viewers.key_wanted
        try:
            fragment = encoder.encode(image, kind, key=key)
        except VideoError:
            with self._changed:
                return [(page, {"format": kind, "data": _text(image)}) for page in self._viewers.answer()]
        with self._changed:
            return list(self._viewers.deliver(fragment).items())


def _text(data: bytes) -> str:
    return b64encode(data).decode()
