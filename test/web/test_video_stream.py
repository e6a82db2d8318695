# SPDX-License-Identifier: Apache-2.0
"""Which page gets which pictures: each can show what it gets, it is the newest, and a slow one delays no other."""

import base64
import io
import queue
import random
import threading

import pytest
from PIL import Image

from hexapod_control.web import video_stream
from hexapod_control.web.video import Fragment
from hexapod_control.web.video_stream import KEY_GAP, MAX_MISSED, MAX_SILENCE, VideoStream, Viewers

WAIT_S = 5.0


class Screen:
    """What a page shows: pictures in their order, which it can decode from a key frame of a header that it has."""

    def __init__(self):
        self.header = None
        self.last = -1  # number of the newest picture

    def take(self, sent):
        if "header" in sent:
            self.header, self.last = base64.b64decode(sent["header"]), -1
        pictures = base64.b64decode(sent["data"]).decode().split()
        assert len(pictures) == sent["count"]
        numbers = [int(text.strip("K.")) for text in pictures]
        assert sent["key"] == ("K" in pictures[0]) and not any("K" in text for text in pictures[1:])
        if not sent["key"]:
            assert self.last >= 0 and numbers[0] == self.last + 1, "it refers to a picture that the page has not got"
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        self.last = numbers[-1]


class Camera:
    """Pictures as text: their numbers, filled up to the size that they have."""

    def __init__(self, key_size, size):
        self.viewers, self.number, self.header = Viewers(), -1, b"a"
        self.sizes = key_size, size
        self.keys = []

    def next(self, begins=False):
        """The next picture is encoded. Returns what is sent."""
        self.number += 1
        key = begins or self.number == 0 or self.viewers.key_wanted
        if begins:
            self.header += b"a"
        if key:
            self.keys.append(self.number)
        text = f"{'K' if key else ''}{self.number}".ljust(self.sizes[0 if key else 1] - 1, ".") + " "
        return self.viewers.deliver(Fragment(text.encode(), key, self.header, "avc1.42c01e"))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_pages_do_each_can_show_what_it_gets_and_the_newest_picture_is_in_it(seed):
    rng = random.Random(seed)
    camera = Camera(rng.randint(20, 200), rng.randint(12, 60))
    screens = {page: Screen() for page in range(1, 6)}
    waiting = set()
    for _ in range(400):
        for page, screen in screens.items():
            if page not in waiting and rng.random() < 0.2 * page:
                anew = screen.header is None or rng.random() < 0.02
                camera.viewers.request(page, anew=anew)
                waiting.add(page)
        sent = camera.next(begins=rng.random() < 0.01)
        for page, fields in sent.items():
            assert page in waiting
            waiting.discard(page)
            screens[page].take(fields)
            assert screens[page].last == camera.number
            most = max(camera.sizes[0] + camera.sizes[1], (MAX_MISSED + 1) * camera.sizes[0] + camera.sizes[1])
            assert len(base64.b64decode(fields["data"])) <= most, "what is kept for a page is bounded"
    assert all(screen.last >= camera.number - 100 for screen in screens.values())


def test_a_newcomer_gets_a_key_frame_at_once_and_those_who_follow_get_no_second_header():
    camera = Camera(60, 20)
    camera.viewers.request(1, anew=True)
    assert "header" in camera.next()[1]
    for _ in range(3):
        camera.viewers.request(1, anew=False)
        assert not camera.next()[1]["key"]
    camera.viewers.request(1, anew=False)
    camera.viewers.request(2, anew=True)
    sent = camera.next()
    assert sent[1]["key"] and sent[2]["key"]
    assert "header" not in sent[1] and "header" in sent[2]


def test_a_page_alone_needs_no_key_frame_however_slow_it_is():
    camera = Camera(60, 20)
    camera.viewers.request(1, anew=True)
    camera.next()
    for _ in range(50):
        assert not camera.viewers.waiting  # nothing is encoded meanwhile
        camera.viewers.request(1, anew=False)
        assert camera.next()[1]["count"] == 1
    assert camera.keys == [0]


def test_a_slow_page_beside_a_fast_one_gets_what_it_missed_or_the_next_key_frame_and_forces_few():
    camera = Camera(60, 20)
    slow = Screen()
    for page in (1, 2):
        camera.viewers.request(page, anew=True)
    slow.take(camera.next()[2])
    for pause, catches_up in ((4, True), (40, False)):
        for _ in range(pause):
            camera.viewers.request(1, anew=False)
            assert camera.next()[1]["count"] == 1
        camera.viewers.request(2, anew=False)
        camera.viewers.request(1, anew=False)
        sent = camera.next()
        assert (sent[2]["key"], sent[2]["count"]) == ((False, pause + 1) if catches_up else (True, 1))
        slow.take(sent[2])
    camera.keys.clear()
    for k in range(10 * KEY_GAP):
        camera.viewers.request(1, anew=False)
        if k % 8 == 7:
            camera.viewers.request(2, anew=False)
        camera.next()
    assert len(camera.keys) <= 10


def test_a_page_that_is_gone_is_forgotten_and_begins_anew():
    camera = Camera(60, 20)
    for page in (1, 2):
        camera.viewers.request(page, anew=True)
    camera.next()
    for _ in range(MAX_SILENCE + 1):
        camera.viewers.request(1, anew=False)
        camera.next()
    camera.viewers.request(2, anew=False)
    assert "header" in camera.next()[2]


# --- with the encoder ---------------------------------------------------------------------------------------------


def picture(size=(64, 48), shade=0):
    file = io.BytesIO()
    Image.new("RGB", size, (shade, 90, 0)).save(file, "JPEG")
    return file.getvalue()


class Sent(queue.Queue):
    """What a stream sends."""

    def __init__(self):
        super().__init__()
        self.stream = VideoStream(lambda page, fields: self.put((page, fields)))

    def ask(self, *pages, anew=False, image=None):
        """Pages ask, and an image is taken. Returns what each gets."""
        for page in pages:
            self.stream.request(page, anew=anew)
        self.stream.take(image or picture(), "jpeg", lambda: {"age": 7})
        return dict(self.get(timeout=WAIT_S) for _ in pages)


@pytest.fixture
def sent():
    found = Sent()
    yield found
    found.stream.close()


def test_nothing_is_encoded_unless_a_page_waits(sent):
    threads = threading.active_count()
    sent.stream.take(picture(), "jpeg", dict)
    assert threading.active_count() == threads
    assert sent.ask(1, anew=True)[1]["age"] == 7
    assert threading.active_count() == threads + 1
    sent.stream.take(picture(), "jpeg", dict)
    first = sent.ask(1)[1]
    assert first["count"] == 1 and sent.empty()


def test_an_image_that_cannot_be_encoded_is_sent_as_it_is_and_the_video_goes_on(sent):
    sent.ask(1, anew=True)
    for bad in (b"noise", picture((65, 48))):
        assert sent.ask(1, image=bad) == {1: {"format": "jpeg", "data": base64.b64encode(bad).decode(), "age": 7}}
        following = sent.ask(1)[1]
        assert following["format"] == "h264" and not following["key"]


def test_of_images_that_come_faster_than_they_are_encoded_only_the_newest_is_encoded(sent, monkeypatch):
    sent.ask(1, anew=True)
    busy, free = threading.Event(), threading.Event()
    encode = video_stream.VideoEncoder.encode
    count = []

    def slow(*arguments, **options):
        count.append(1)
        busy.set()
        assert free.wait(WAIT_S)
        return encode(*arguments, **options)

    monkeypatch.setattr(video_stream.VideoEncoder, "encode", slow)
    sent.stream.request(1, anew=False)
    sent.stream.take(picture(), "jpeg", lambda: {"shot": 1})
    assert busy.wait(WAIT_S)
    sent.stream.request(2, anew=True)
    for shot in (2, 3, 4):
        sent.stream.take(picture(shade=shot), "jpeg", lambda shot=shot: {"shot": shot})
    free.set()
    assert [(page, fields["shot"]) for page, fields in (sent.get(timeout=WAIT_S) for _ in range(2))] == [(1, 1), (2, 4)]
    assert len(count) == 2


def test_a_closed_stream_begins_anew_with_a_header(sent):
    assert "header" in sent.ask(1, anew=True)[1]
    sent.stream.close()
    assert "header" in sent.ask(1)[1]
