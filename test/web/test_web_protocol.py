# SPDX-License-Identifier: Apache-2.0
"""Messages, tokens, control of the robot and dead-man of the page. No sockets, no clock."""

import json
import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.page_messages import MESSAGES
from support.suite.soak import SOAK

from hexapod_control.web import protocol
from hexapod_control.web.protocol import (
    DriveMessage,
    GaitMessage,
    LegMessage,
    PlayMessage,
    PoseMessage,
    RefusedMessageError,
    RequestMessage,
    parse,
)
from hexapod_control.web.sessions.access_control import (
    FAILURE_WINDOW_S,
    MAX_FAILURES,
    MAX_REMEMBERED,
    HostPolicy,
    TokenAuthority,
    is_loopback,
)
from hexapod_control.web.sessions.client_sessions import (
    CROWD_TIME_S,
    DEAD_MAN_S,
    HELLO_TIME_S,
    MAX_CLIENTS,
    MAX_DROPPED,
    MAX_IDLE_S,
    MAX_RATE,
    ClientSessions,
    Disconnect,
    Forward,
    Send,
)

TOKEN = "0123456789abcdef"


class Sessions:
    """The sessions of a page with a clock."""

    def __init__(self):
        self.tokens = TokenAuthority(TOKEN)
        self.sessions = ClientSessions(self.tokens.admit, lambda: {"hello": "you"})
        self.now = 100.0
        self.count = 0

    def client(self, token=TOKEN, name=""):
        number = self.sessions.connect("192.0.2.1", self.now)
        self.send(number, "hello", token=token, name=name)
        return number

    def send(self, number, kind, **fields):
        self.count += 1
        return self.sessions.receive(number, json.dumps({"v": 2, "n": self.count, "t": kind, **fields}), self.now)

    def drive(self, number, vx=1.0):
        return self.send(number, "drive", on=True, vx=vx)


@pytest.fixture
def page():
    return Sessions()


def commands(actions):
    return [action.body for action in actions if isinstance(action, Forward)]


def codes(actions):
    return [action.fields["code"] for action in actions if isinstance(action, Send) and action.kind == "refused"]


# --- messages ---------------------------------------------------------------------------------------------------


def text(**fields):
    return json.dumps({"v": 2, "n": 1, **fields})


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (text(t="drive", on=True, vx=0.5, wz=-1), DriveMessage(True, 0.5, 0.0, -1.0)),
        (text(t="pose", z=0.01, roll=0.1), PoseMessage(z=0.01, roll=0.1)),
        (text(t="gait", name="wave"), GaitMessage("wave")),
        (text(t="leg", name="left_front", lost=True), LegMessage("left_front", True)),
        (text(t="play", name="bow"), PlayMessage("bow")),
        (text(t="play", name=""), PlayMessage("")),
        (text(t="request", what="estop"), RequestMessage("estop")),
    ],
)
def test_a_valid_message_is_decoded(message, body):
    assert parse(message).body == body


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "null",
        "{",
        '{"v":2,"n":1,"t":"drive","on":true,"vx":NaN}',
        '{"v":2,"n":1,"t":"drive","on":true,"vx":Infinity}',
        '{"v":2,"n":1,"t":"drive","on":true,"vx":1e999}',
        '{"v":2,"n":1,"t":"drive","on":true,"vx":1' + 400 * "0" + "}",
        '{"v":2,"n":1,"t":"drive","on":true,"vx":' + 5000 * "9" + "}",
        4000 * "[",
        text(t="drive", on=True, vx=1.01),
        text(t="drive", on=1, vx=0.5),
        text(t="drive", vx=0.5),
        text(t="drive", on=True, vx="1"),
        text(t="drive", on=True, vx=True),
        text(t="drive", on=True, vx=None),
        text(t="drive", on=True, speed=1),
        text(t="fly"),
        text(t=["drive"]),
        text(t="request", what="dance"),
        text(t="gait", name="a\nb"),
        text(t="pose", z=2.0),
        text(t="push", x=1e6, y=0),
        text(t="world", friction=0.0),
        json.dumps({"v": 2, "n": -1, "t": "heartbeat"}),
        json.dumps({"v": 2, "n": 1.5, "t": "heartbeat"}),
        json.dumps({"v": 2, "n": True, "t": "heartbeat"}),
        json.dumps({"v": 3, "n": 1, "t": "heartbeat"}),
    ],
    ids=lambda message: message[:40],
)
def test_an_invalid_message_is_refused_with_a_reason(message):
    with pytest.raises(RefusedMessageError) as refused:
        parse(message)
    assert refused.value.code in (400, 413, 426)
    assert refused.value.text


def test_numbers_that_are_not_finite_become_null_for_the_page():
    sent = json.loads(protocol.encode("state", 7, a=math.nan, b=[math.inf, 1.0], c={"d": -math.inf}))
    assert sent == {"v": 2, "n": 7, "t": "state", "a": None, "b": [None, 1.0], "c": {"d": None}}


# --- access control -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "fine"),
    [
        ({"Host": "127.0.0.1:8770", "Origin": "http://127.0.0.1:8770"}, True),
        ({"Host": "localhost:8770", "Origin": "http://localhost:8770"}, True),
        ({"Host": "[::1]:8770", "Origin": "http://[::1]:8770"}, True),
        ({"Host": "Robot.Example", "Origin": "https://robot.example"}, True),
        ({"Host": "127.0.0.1:8770", "Origin": "http://evil.example"}, False),
        ({"Host": "127.0.0.1:8770", "Origin": "http://127.0.0.1:8771"}, False),
        ({"Host": "127.0.0.1:8770", "Origin": "null"}, False),
        ({"Host": "127.0.0.1:8770"}, False),
        ({"Host": "evil.example:8770", "Origin": "http://evil.example:8770"}, False),
        ({"Origin": "http://127.0.0.1:8770"}, False),
        ({"Host": "127.0.0.1.evil.example", "Origin": "http://127.0.0.1.evil.example"}, False),
        ({"Host": "127.0.0.1@evil.example", "Origin": "http://127.0.0.1@evil.example"}, False),
        ({"Host": "[", "Origin": "http://["}, False),
    ],
)
def test_only_local_pages_under_a_known_host_name_connect(headers, fine):
    gate = HostPolicy(["robot.example"])
    if fine:
        gate.check_origin(headers)
    else:
        with pytest.raises(RefusedMessageError) as refused:
            gate.check_origin(headers)
        assert refused.value.code == 403


def test_on_a_network_numeric_host_addresses_are_accepted_but_foreign_names_are_not():
    gate = HostPolicy([], literal=True)
    gate.check_origin({"Host": "192.0.2.7:8770", "Origin": "http://192.0.2.7:8770"})
    for host in ("evil.example", "192.0.2.7.evil.example", ""):
        with pytest.raises(RefusedMessageError, match=r"is not allowed, known are .*; see the parameter allowed_hosts"):
            gate.check_origin({"Host": host, "Origin": f"http://{host}"})
    with pytest.raises(RefusedMessageError):
        HostPolicy([]).check_host({"Host": "192.0.2.7:8770"})


@given(st.dictionaries(st.sampled_from(["Host", "Origin"]), st.text(max_size=60)))
def test_no_header_crashes_the_origin_check(headers):
    try:
        HostPolicy([]).check_origin(headers)
    except RefusedMessageError as refused:
        assert refused.code == 403


def test_loopback_is_known():
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1", "robot", "")))


def test_an_invitation_admits_one_client_which_may_reconnect():
    tokens = TokenAuthority()
    token = tokens.invite()
    key = tokens.admit(token, "", "a", 0.0)
    assert tokens.admit("", key, "b", 1.0) == key
    with pytest.raises(RefusedMessageError) as refused:
        tokens.admit(token, "", "a", 2.0)
    assert refused.value.code == 401


@pytest.mark.parametrize("once", [True, False])
def test_without_a_token_no_client_is_admitted(once):
    tokens = TokenAuthority(once=once)
    tokens.invite()
    for token, key in (("", ""), ("x", ""), ("", "x"), ("é", "\x00")):
        with pytest.raises(RefusedMessageError):
            tokens.admit(token, key, token + key, 0.0)


WRONG_TOKEN = {401: "this address has no valid token", 429: "too many attempts from "}


def fail(tokens, address, now=0.0, token="guess"):
    """The status code for a wrong token."""
    with pytest.raises(RefusedMessageError) as refused:
        tokens.admit(token, "", address, now)
    assert refused.value.text.startswith(WRONG_TOKEN[refused.value.code])
    return refused.value.code


def test_a_wrong_token_is_blocked_for_a_while_but_a_valid_one_always_works():
    """Behind a proxy a client with an old token has the same address as the owner."""
    tokens = TokenAuthority(TOKEN)
    key = tokens.admit(TOKEN, "", "a", 0.0)
    codes = [fail(tokens, "a") for _ in range(MAX_FAILURES + 1)]
    assert codes == [401] * MAX_FAILURES + [429]
    assert tokens.admit(TOKEN, "", "a", 1.0)
    assert tokens.admit("", key, "a", 1.0) == key
    assert fail(tokens, "b") == 401
    assert fail(tokens, "a", token="another") == 401
    assert fail(tokens, "a", FAILURE_WINDOW_S + 1.0) == 401


def test_a_valid_token_works_while_the_table_of_failures_is_full():
    tokens = TokenAuthority(TOKEN)
    for number in range(2 * MAX_REMEMBERED):
        for _ in range(MAX_FAILURES):
            fail(tokens, "a", token=f"guess {number}")
    assert tokens.admit(TOKEN, "", "a", 0.0)


def test_failures_add_up_even_if_the_table_is_full():
    """An attacker must not reset the count of an address by failing from it while the table is full."""
    tokens = TokenAuthority(TOKEN)
    for number in range(MAX_REMEMBERED):
        assert fail(tokens, f"address {number}") == 401
    for address in ("address 0", f"address {MAX_REMEMBERED - 1}"):
        for _ in range(MAX_FAILURES - 1):
            assert fail(tokens, address) == 401
        assert fail(tokens, address) == 429


def test_a_full_table_forgets_the_oldest_failures():
    """The table is bounded, and a new address still counts."""
    tokens = TokenAuthority(TOKEN)
    for _ in range(MAX_FAILURES):
        fail(tokens, "oldest")
    for number in range(MAX_REMEMBERED - 1):
        fail(tokens, f"address {number}")
    assert fail(tokens, "oldest") == 429
    for _ in range(MAX_FAILURES):
        assert fail(tokens, "new") == 401
    assert fail(tokens, "new") == 429
    assert fail(tokens, "oldest") == 401


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        ("http://robot.example:8770", "robot.example:8770", True),
        ("https://robot.example:8770", "robot.example:8770", True),
        ("http://ROBOT.example:8770", "robot.EXAMPLE:8770", True),
        ("http://robot.example:8771", "robot.example:8770", False),
        ("http://robot.example", "robot.example:8770", False),
        ("ftp://robot.example:8770", "robot.example:8770", False),
        ("robot.example:8770", "robot.example:8770", False),
        ("http://[robot.example:8770", "robot.example:8770", False),
        ("null", "robot.example:8770", False),
    ],
)
def test_the_origin_must_be_this_page_by_scheme_name_and_port(origin, host, allowed):
    policy = HostPolicy(["robot.example"])
    if allowed:
        policy.check_origin({"Host": host, "Origin": origin})
        return
    with pytest.raises(RefusedMessageError, match="is not this page"):
        policy.check_origin({"Host": host, "Origin": origin})


def test_a_short_token_is_refused():
    with pytest.raises(ValueError, match="at least 16 characters"):
        TokenAuthority("hunter2")


# --- driving ---------------------------------------------------------------------------------------------------------


def test_a_wrong_token_closes_the_connection(page):
    number = page.sessions.connect("192.0.2.1", page.now)
    actions = page.send(number, "hello", token="wrong")
    assert codes(actions) == [401]
    assert [action.code for action in actions if isinstance(action, Disconnect)] == [4401]


def test_nothing_is_forwarded_before_the_hello(page):
    number = page.sessions.connect("192.0.2.1", page.now)
    for kind, fields in (
        ("drive", {"on": True, "vx": 1.0}),
        ("request", {"what": "stop"}),
        ("query", {"what": "invite"}),
    ):
        actions = page.send(number, kind, **fields)
        assert commands(actions) == []
        assert codes(actions) == [401]


def test_a_client_without_a_hello_is_disconnected(page):
    number = page.sessions.connect("192.0.2.1", page.now)
    assert page.sessions.tick(page.now + HELLO_TIME_S - 0.1) == []
    assert [action.client for action in page.sessions.tick(page.now + HELLO_TIME_S + 0.1)] == [number]


def test_two_connections_of_an_address_may_wait_for_long_before_their_hello_and_the_older_ones_give_way(page):
    crowd = [page.sessions.connect("192.0.2.1", page.now) for _ in range(4)]
    other = page.sessions.connect("192.0.2.2", page.now)
    assert page.sessions.tick(page.now + CROWD_TIME_S - 0.1) == []
    late = page.sessions.tick(page.now + CROWD_TIME_S + 0.1)
    assert {action.client for action in late} == set(crowd[:2])
    assert other not in {action.client for action in late}


def test_connections_without_a_hello_take_no_page_the_place_but_too_many_pages_do(page):
    for _ in range(3 * MAX_CLIENTS):
        page.sessions.connect("192.0.2.1", page.now)
    for _ in range(MAX_CLIENTS):
        page.client()
    actions = page.send(page.sessions.connect("192.0.2.1", page.now), "hello", token=TOKEN)
    assert codes(actions) == [503]
    assert actions[0].fields["text"] == "24 pages are open already: close one of them"
    assert [action.code for action in actions if isinstance(action, Disconnect)] == [4429]  # the page tries again


def test_a_velocity_expires_after_the_dead_man_time(page):
    number = page.client()
    [action] = [action for action in page.drive(number) if isinstance(action, Forward)]
    assert action.body == DriveMessage(True, 1.0)
    assert action.until == page.now + DEAD_MAN_S


def test_without_the_dead_man_a_velocity_is_a_zero(page):
    number = page.client()
    page.drive(number)
    assert not any(body.moves for body in commands(page.send(number, "drive", on=False, vx=1.0)))


def test_a_second_client_watches(page):
    first, second = page.client(name="Ada"), page.client()
    page.drive(first)
    actions = page.drive(second)
    assert commands(actions) == []
    assert codes(actions) == [403]
    assert "Ada drives: request control first" in actions[0].fields["text"]


@pytest.mark.parametrize("what", ["stop", "estop"])
def test_every_client_can_stop_and_the_driver_must_release_the_dead_man_first(page, what):
    first, second = page.client(), page.client()
    page.drive(first)
    assert commands(page.send(second, "request", what=what)) == [DriveMessage(False), RequestMessage(what)]
    assert commands(page.drive(first)) == []
    page.send(first, "drive", on=False)
    assert commands(page.drive(first)) == [DriveMessage(True, 1.0)]


def test_after_a_stop_and_a_silence_the_driver_can_drive_again(page):
    number = page.client()
    page.drive(number)
    page.send(number, "request", what="stop")
    for _ in range(20):
        page.now += 0.05
        assert commands(page.drive(number)) == []
    page.now += DEAD_MAN_S + 0.1
    assert commands(page.drive(number)) == [DriveMessage(True, 1.0)]


@pytest.mark.parametrize("what", ["stand", "sit", "rearm", "reset_world"])
def test_only_the_driver_may_send_other_requests(page, what):
    first, second = page.client(), page.client()
    page.drive(first)
    assert commands(page.send(second, "request", what=what)) == []
    assert commands(page.send(first, "request", what=what)) == [RequestMessage(what)]


def test_control_is_handed_over_and_the_robot_stops(page):
    first, second = page.client(), page.client()
    page.drive(first)
    page.send(second, "control", act="take")
    assert page.sessions.driver == first
    assert commands(page.send(first, "control", act="give", to=second)) == [DriveMessage(False)]
    assert page.sessions.driver == second
    assert commands(page.drive(first)) == []
    assert commands(page.drive(second)) == [DriveMessage(True, 1.0)]


def test_only_the_driver_hands_over_control(page):
    first, second = page.client(), page.client()
    page.drive(first)
    assert codes(page.send(second, "control", act="give", to=second)) == [403]
    assert page.sessions.driver == first


def test_an_idle_driver_loses_control_to_a_client_that_requests_it(page):
    first, second = page.client(), page.client()
    page.drive(first)
    page.send(second, "control", act="take")
    page.now += MAX_IDLE_S - 0.5
    page.sessions.tick(page.now)
    assert page.sessions.driver == first
    page.now += 1.0
    page.sessions.tick(page.now)
    assert page.sessions.driver == second


def test_a_driver_that_disconnects_stops_the_robot_and_releases_control(page):
    first, second = page.client(), page.client()
    page.drive(first)
    assert commands(page.sessions.disconnect(first, page.now)) == [DriveMessage(False)]
    assert commands(page.drive(second)) == [DriveMessage(True, 1.0)]


def test_an_old_sequence_number_is_ignored(page):
    number = page.client()
    page.drive(number)
    page.count = 0
    assert page.drive(number) == []


def test_a_client_that_sends_too_much_is_throttled_but_can_stop(page):
    number = page.client()
    answers = [page.drive(number) for _ in range(int(4 * MAX_RATE))]
    assert sum(len(commands(actions)) for actions in answers) <= 2 * MAX_RATE
    refusals = [action.fields["text"] for actions in answers for action in actions if codes([action]) == [429]]
    assert refusals == [f"more than {MAX_RATE:g} messages/s: dropped"]
    assert RequestMessage("stop") in commands(page.send(number, "request", what="stop"))


def test_a_client_that_floods_is_disconnected(page):
    number = page.client()
    closed = [a for _ in range(MAX_DROPPED + 200) for a in page.drive(number) if isinstance(a, Disconnect)]
    assert closed


def test_fifty_messages_a_second_are_never_too_many(page):
    number = page.client()
    for _ in range(400):
        page.now += 0.02
        assert len(commands(page.drive(number))) == 1


@pytest.mark.soak
@settings(max_examples=300 if SOAK else 100)
@given(st.lists(st.tuples(st.integers(0, 2), MESSAGES, st.floats(0.0, 1.0)), max_size=30))
def test_no_message_raises_and_none_moves_the_robot_without_token_control_and_dead_man(talk):
    """Clients 0 and 1 have a token, client 2 has none."""
    page = Sessions()
    page.tokens = None
    clients = [page.client(), page.client(), page.sessions.connect("192.0.2.2", page.now)]
    stranger = clients[2]
    for who, message, pause in talk:
        page.now += pause
        if who == 2 and TOKEN in message:
            continue
        before = page.sessions.driver
        actions = page.sessions.receive(clients[who], message, page.now) + page.sessions.tick(page.now)
        for action in actions:
            if not isinstance(action, Forward) or (isinstance(action.body, DriveMessage) and not action.body.moves):
                continue
            assert action.client == clients[who] != stranger
            if isinstance(action.body, DriveMessage):
                assert '"on": true' in message
                assert max(abs(action.body.vx), abs(action.body.vy), abs(action.body.wz)) <= 1.0
                assert action.until <= page.now + DEAD_MAN_S
            if not isinstance(action.body, (RequestMessage, protocol.QueryMessage)):
                assert before in (0, action.client)
        if any(isinstance(action, Disconnect) and action.client == stranger for action in actions):
            page.sessions.disconnect(stranger, page.now)


def test_every_message_that_moves_the_robot_needs_control():
    assert set(get_args(protocol.RobotBody)) <= set(protocol.DRIVER_MESSAGES)
