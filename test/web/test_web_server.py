# SPDX-License-Identifier: Apache-2.0
"""The server of the page on a real socket: headers, tokens, limits, slow clients. No ROS."""

import contextlib
import re
import socket
import sys
import time
import urllib.error
import urllib.request
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest
from support.page_messages import TOKEN
from support.real_time.web.page_attack import attack
from support.real_time.web.web_bench import Loop, Visitor, stalled_socket

from hexapod_control.web import doorway, page_address, server
from hexapod_control.web.doorway import MAX_STRANGERS, PORTS_TRIED
from hexapod_control.web.page_files import STATIC
from hexapod_control.web.protocol import MAX_MESSAGE_BYTES, DriveMessage
from hexapod_control.web.server import PageServer
from hexapod_control.web.sessions.access_control import HostPolicy, TokenAuthority
from hexapod_control.web.sessions.client_sessions import DEAD_MAN_S, ClientSessions

MAX_PAGE_BYTES = 1_000_000  # of the whole page


class Site:
    """A server without a robot."""

    def __init__(self, public=False):
        self.done = []
        self.people = 0
        door = TokenAuthority(TOKEN)
        self.desk = ClientSessions(door.admit, lambda: {"shape": {}})
        self.state = None
        policy = HostPolicy(["robot.example"], literal=public)
        self.server = PageServer(self.desk, policy, self.done.append, self._watch, lambda: self.state, 100.0)
        self.server.start("127.0.0.1", 0)
        self.port = self.server.port
        self.loop = Loop()
        self.visitors = []

    def _watch(self, people):
        self.people = people

    def visit(self, **options):
        self.visitors.append(Visitor(self.loop, self.port, **options))
        return self.visitors[-1]

    def close(self):
        for visitor in self.visitors:
            visitor.close()
        self.server.close()
        self.loop.close()

    def get(self, path, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        return urllib.request.urlopen(request, timeout=5.0)

    def bodies(self):
        return [action.body for action in self.done]


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


def test_the_page_is_served_with_its_parts_and_a_strict_policy(site):
    with site.get("/") as page:
        text, headers = page.read().decode(), page.headers
    assert "E-STOP" in text
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    for part in re.findall(r'(?:src|href)="([\w./-]+)"', text):
        with site.get(f"/{part}") as file:
            assert file.status == 200


def test_the_page_loads_nothing_from_another_machine():
    for path in filter(Path.is_file, STATIC.rglob("*")):
        found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", path.read_text(errors="replace"))
        assert [url for url in found if "www.w3.org" not in url] == [], path


def test_the_whole_page_is_light():
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()) <= MAX_PAGE_BYTES


def test_text_is_compressed_for_clients_that_accept_it(site):
    with site.get("/main.js", **{"Accept-Encoding": "gzip"}) as packed, site.get("/main.js") as plain:
        assert packed.headers["Content-Encoding"] == "gzip"
        assert len(packed.read()) < 0.5 * len(plain.read())


@pytest.mark.parametrize("path", ["/../server.py", "/%2e%2e/server.py", "//etc/passwd", "/nothing", "/static/main.js"])
def test_there_are_no_other_pages(site, path):
    with pytest.raises(urllib.error.HTTPError) as error:
        site.get(path)
    assert error.value.code == 404


def test_a_foreign_host_is_refused(site):
    with pytest.raises(urllib.error.HTTPError) as error:
        site.get("/", Host="evil.example")
    assert error.value.code == 403
    with site.get("/", Host="robot.example") as page:
        assert page.status == 200


class KeepAddress(urllib.request.HTTPRedirectHandler):
    """Follows no redirection."""

    def redirect_request(self, *arguments):
        return None


@pytest.mark.parametrize("public", [True, False])
def test_a_phone_that_joins_the_hotspot_is_sent_to_the_page_if_that_is_public(public):
    site = Site(public)
    asked = urllib.request.build_opener(KeepAddress())
    answers = {}
    for path in ("/generate_204", "/hotspot-detect.html", "/", "/main.js"):
        request = urllib.request.Request(f"http://127.0.0.1:{site.port}{path}", headers={"Host": "captive.example"})
        with pytest.raises(urllib.error.HTTPError) as error:
            asked.open(request, timeout=5.0)
        answers[path] = error.value.code, error.value.headers.get("Location")
    sent = (302, f"http://127.0.0.1:{site.port}/") if public else (403, None)
    assert answers == {"/generate_204": sent, "/hotspot-detect.html": sent, "/": (403, None), "/main.js": (403, None)}
    site.close()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(site, origin):
    with pytest.raises(aiohttp.WSServerHandshakeError) as error:
        site.visit(origin=origin)
    assert error.value.status == 403


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1]])
def test_a_connection_without_the_token_is_closed_with_401(site, token):
    visitor = site.visit(token=token)
    visitor.wait(lambda: visitor.code)
    assert visitor.code == 4401
    [refused] = visitor.received("refused")
    assert refused["code"] == 401
    assert refused["text"].startswith("this address has no valid token: open the one that is printed")


def test_a_visitor_with_a_token_is_welcome_and_comes_back_with_a_key(site):
    visitor = site.visit()
    visitor.wait(lambda: visitor.received("control"))
    again = site.visit(token="", key=visitor.received("welcome")[0]["key"])
    again.wait(lambda: again.received("welcome"))
    assert site.people == 2


def test_a_message_that_is_too_long_ends_the_connection_with_1009(site):
    visitor = site.visit()
    visitor.text("x" * (MAX_MESSAGE_BYTES + 1))
    visitor.wait(lambda: visitor.code)
    assert visitor.code == 1009


def test_nan_is_refused_and_a_finite_velocity_goes_on(site):
    visitor = site.visit()
    visitor.text('{"v":2,"n":7,"t":"drive","on":true,"vx":NaN}')
    visitor.wait(lambda: visitor.received("refused"))
    assert visitor.received("refused")[0]["text"] == "a message is one JSON object with finite numbers"
    visitor.send("drive", n=8, on=True, vx=0.5)
    visitor.wait(lambda: site.done)
    assert site.bodies() == [DriveMessage(True, 0.5)]
    assert site.done[0].until == pytest.approx(time.monotonic() + DEAD_MAN_S, abs=0.4)


@pytest.mark.parametrize("way", ["close", "drop"])
def test_the_robot_stops_when_the_driver_disconnects(site, way):
    visitor = site.visit()
    visitor.send("drive", on=True, vx=0.5)
    visitor.wait(lambda: site.done)
    getattr(visitor, way)()
    visitor.wait(lambda: len(site.done) == 2, seconds=1.0)
    assert site.bodies()[-1] == DriveMessage(False)


def test_a_client_that_does_not_read_delays_no_other_and_is_disconnected(site, monkeypatch):
    monkeypatch.setattr(server, "MAX_SEND_TIME_S", 0.5)
    raw = stalled_socket(site.port)
    visitor = site.visit()
    visitor.wait(lambda: site.people == 2)
    site.state = {"filler": "x" * 50_000}
    try:
        visitor.wait(lambda: site.people == 1, seconds=10.0)
        got = len(visitor.received("state"))
        visitor.wait(lambda: len(visitor.received("state")) >= got + 20, seconds=2.0)
    finally:
        raw.close()


def test_every_client_sees_the_name_of_the_driver(site):
    first, second = site.visit(name="Ada"), site.visit(name="Bob")
    second.wait(lambda: second.received("welcome"))
    first.send("drive", on=True, vx=0.1)
    second.wait(lambda: second.received("control") and second.received("control")[-1]["driver"] == 1)
    assert {person["name"] for person in second.received("control")[-1]["people"]} == {"Ada", "Bob"}


def test_sequence_numbers_of_messages_only_increase(site):
    visitor = site.visit()
    visitor.wait(lambda: visitor.received("welcome"))
    site.state = {"value": 1}
    visitor.wait(lambda: len(visitor.received("state")) >= 20)
    numbers = [message["n"] for message in visitor.messages]
    assert all(a < b for a, b in pairwise(numbers))


def test_a_port_in_use_is_replaced_by_the_next_free_one(site):
    other = PageServer(ClientSessions(TokenAuthority(TOKEN).admit, dict), HostPolicy([]), print, print)
    other.start("127.0.0.1", site.port)
    try:
        assert site.port < other.port < site.port + PORTS_TRIED
    finally:
        other.close()


def test_an_address_of_another_machine_cannot_be_opened():
    page = PageServer(ClientSessions(TokenAuthority(TOKEN).admit, dict), HostPolicy([]), print, print)
    with pytest.raises(OSError, match=r"192\.0\.2\.1"):
        page.start("192.0.2.1", 0)


HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        *(
            b"GET " + url + HOST
            for url in (b"http://[", b"http://a:b/", b"*", b"/\xff", b"/\x00", b"/" + b"a" * 20_000)
        ),
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nnothing\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_a_malformed_request_is_answered_with_a_code_and_no_traceback(site, caplog, request_bytes):
    with socket.create_connection(("127.0.0.1", site.port), timeout=5.0) as raw:
        raw.sendall(request_bytes)
        assert re.match(rb"HTTP/1\.[01] 4\d\d ", raw.recv(64))
    assert caplog.records == []


@pytest.mark.parametrize(
    "start", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"GET /" + HOST + b"GET "]
)
def test_a_half_open_request_is_closed_in_time_even_if_bytes_trickle_in(monkeypatch, caplog, start):
    assert doorway.MAX_REQUEST_TIME_S == 5.0
    monkeypatch.setattr(doorway, "MAX_REQUEST_TIME_S", 0.5)
    site = Site()
    try:
        with socket.create_connection(("127.0.0.1", site.port), timeout=0.1) as raw:
            raw.sendall(start)
            deadline = time.monotonic() + 3.0
            with pytest.raises(ConnectionError):
                while time.monotonic() < deadline:
                    with contextlib.suppress(TimeoutError):
                        if not raw.recv(4096):
                            raise ConnectionResetError
                    raw.sendall(b"X" if start else b"")
        assert caplog.records == []
    finally:
        site.close()


@pytest.mark.waits
def test_a_valid_token_gets_in_and_an_open_page_stops_the_robot_beside_attackers_that_come_back(site, caplog):
    page = site.visit()
    page.wait(lambda: page.received("welcome"))
    files = Path("/proc/self/fd")
    before = len(list(files.iterdir()))
    with attack(site.port):
        for count in range(1, 6):
            start = time.monotonic()
            owner = site.visit()
            owner.wait(lambda owner=owner: owner.received("welcome"), seconds=1.0)
            assert time.monotonic() - start < 1.0
            page.send("request", what="estop")
            page.wait(lambda count=count: len(page.received("stopped")) == count, seconds=0.5)
            owner.close()
            assert len(list(files.iterdir())) - before <= 2 * MAX_STRANGERS + 20
        with site.get("/main.js") as file:
            assert file.status == 200
    assert site.people >= 1 and page.code is None
    assert caplog.records == []


def test_without_segno_the_address_is_printed_with_the_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "segno", None)
    assert page_address.qr_rows("x") == []
    [line, address] = page_address.invitation_lines(["http://192.0.2.7:8770/#t"], public=True)
    assert "segno is missing" in line and "hexapod doctor" in line and "http://192.0.2.7:8770/#t" in address


def test_a_code_for_a_phone_has_the_address_in_it():
    rows = page_address.qr_rows(page_address.url("192.0.2.7", 8770, "token"))
    assert len(rows) == len(rows[0])
    assert set("".join(rows)) == {"0", "1"}
    assert all(line.strip() for line in page_address.qr_lines("x")[1:-1])
    assert page_address.url("2001:db8::7", 1, "t") == "http://[2001:db8::7]:1/#t"
