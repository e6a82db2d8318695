"""What a page may say and do: parsing, tokens, the driver's seat, the dead-man. No sockets, no clock."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.page_messages import MESSAGES

from hexapod_control.sim.world_settings import WORLDS
from hexapod_control.web import protocol
from hexapod_control.web.access_control import FAILURES, PENALTY, HostPolicy, TokenAuthority, loopback
from hexapod_control.web.client_sessions import (
    DEAD_MAN,
    FLOOD,
    HELLO,
    IDLE,
    RATE,
    ClientSessions,
    Disconnect,
    Forward,
    Send,
)
from hexapod_control.web.protocol import (
    DriveMessage,
    GaitMessage,
    PlayMessage,
    PoseMessage,
    RefusedMessage,
    RequestMessage,
    parse,
)

TOKEN = "0123456789abcdef"


class Office:
    """A desk with a clock."""

    def __init__(self):
        self.door = TokenAuthority(TOKEN)
        self.desk = ClientSessions(self.door.admit, lambda: {"hello": "you"})
        self.now = 100.0
        self.count = 0

    def visitor(self, token=TOKEN, name=""):
        number = self.desk.connect("192.0.2.1", self.now)
        self.say(number, "hello", token=token, name=name)
        return number

    def say(self, number, kind, **fields):
        self.count += 1
        return self.desk.receive(number, json.dumps({"v": 1, "n": self.count, "t": kind, **fields}), self.now)

    def drive(self, number, vx=1.0):
        return self.say(number, "drive", on=True, vx=vx)


@pytest.fixture
def office():
    return Office()


def commands(actions):
    return [action.body for action in actions if isinstance(action, Forward)]


def codes(actions):
    return [action.fields["code"] for action in actions if isinstance(action, Send) and action.kind == "refused"]


# --- messages ---------------------------------------------------------------------------------------------------


def text(**fields):
    return json.dumps({"v": 1, "n": 1, **fields})


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (text(t="drive", on=True, vx=0.5, wz=-1), DriveMessage(True, 0.5, 0.0, -1.0)),
        (text(t="pose", z=0.01, roll=0.1), PoseMessage(z=0.01, roll=0.1)),
        (text(t="gait", name="wave"), GaitMessage("wave")),
        (text(t="play", name="bow"), PlayMessage("bow")),
        (text(t="play", name=""), PlayMessage("")),
        (text(t="ask", what="estop"), RequestMessage("estop")),
    ],
)
def test_a_message_becomes_what_it_says(message, body):
    assert parse(message).body == body


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "null",
        "{",
        '{"v":1,"n":1,"t":"drive","on":true,"vx":NaN}',
        '{"v":1,"n":1,"t":"drive","on":true,"vx":Infinity}',
        '{"v":1,"n":1,"t":"drive","on":true,"vx":1e999}',
        '{"v":1,"n":1,"t":"drive","on":true,"vx":1' + 400 * "0" + "}",
        '{"v":1,"n":1,"t":"drive","on":true,"vx":' + 5000 * "9" + "}",
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
        text(t="ask", what="dance"),
        text(t="gait", name="a\nb"),
        text(t="pose", z=2.0),
        text(t="push", x=1e6, y=0),
        text(t="world", friction=0.0),
        json.dumps({"v": 1, "n": -1, "t": "beat"}),
        json.dumps({"v": 1, "n": 1.5, "t": "beat"}),
        json.dumps({"v": 1, "n": True, "t": "beat"}),
        json.dumps({"v": 2, "n": 1, "t": "beat"}),
    ],
    ids=lambda message: message[:40],
)
def test_a_message_that_cannot_be_used_is_refused_with_a_sentence(message):
    with pytest.raises(RefusedMessage) as refused:
        parse(message)
    assert refused.value.code in (400, 413, 426)
    assert refused.value.text


def test_the_worlds_of_the_page_are_those_of_the_simulator():
    assert protocol.WORLDS == WORLDS


def test_numbers_that_are_not_finite_become_null_for_the_page():
    sent = json.loads(protocol.encode("state", 7, a=math.nan, b=[math.inf, 1.0], c={"d": -math.inf}))
    assert sent == {"v": 1, "n": 7, "t": "state", "a": None, "b": [None, 1.0], "c": {"d": None}}


# --- who is let in ------------------------------------------------------------------------------------------------


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
def test_only_a_page_from_here_under_a_name_of_ours_connects(headers, fine):
    gate = HostPolicy(["robot.example"])
    if fine:
        gate.check_origin(headers)
    else:
        with pytest.raises(RefusedMessage) as refused:
            gate.check_origin(headers)
        assert refused.value.code == 403


def test_on_a_network_an_address_in_numbers_is_ours_but_no_name_of_others():
    gate = HostPolicy([], literal=True)
    gate.check_origin({"Host": "192.0.2.7:8770", "Origin": "http://192.0.2.7:8770"})
    for host in ("evil.example", "192.0.2.7.evil.example", ""):
        with pytest.raises(RefusedMessage):
            gate.check_origin({"Host": host, "Origin": f"http://{host}"})
    with pytest.raises(RefusedMessage):
        HostPolicy([]).check_host({"Host": "192.0.2.7:8770"})


@given(st.dictionaries(st.sampled_from(["Host", "Origin"]), st.text(max_size=60)))
def test_no_header_breaks_the_gate(headers):
    try:
        HostPolicy([]).check_origin(headers)
    except RefusedMessage as refused:
        assert refused.code == 403


def test_loopback_is_known():
    assert all(map(loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(loopback, ("0.0.0.0", "::", "192.0.2.1", "robot", "")))


def test_an_invitation_lets_one_person_in_who_may_come_back():
    door = TokenAuthority()
    token = door.invite()
    key = door.admit(token, "", "a", 0.0)
    assert door.admit("", key, "b", 1.0) == key
    with pytest.raises(RefusedMessage) as refused:
        door.admit(token, "", "a", 2.0)
    assert refused.value.code == 401


@pytest.mark.parametrize("once", [True, False])
def test_without_a_token_nobody_comes_in(once):
    door = TokenAuthority(once=once)
    door.invite()
    for token, key in (("", ""), ("x", ""), ("", "x"), ("é", "\x00")):
        with pytest.raises(RefusedMessage):
            door.admit(token, key, token + key, 0.0)


def test_who_guesses_tokens_waits():
    door = TokenAuthority(TOKEN)
    for _ in range(FAILURES):
        with pytest.raises(RefusedMessage):
            door.admit("guess", "", "a", 0.0)
    with pytest.raises(RefusedMessage) as refused:
        door.admit(TOKEN, "", "a", 1.0)
    assert refused.value.code == 429
    assert door.admit(TOKEN, "", "b", 1.0)
    assert door.admit(TOKEN, "", "a", PENALTY + 1.0)


def test_a_short_token_is_refused():
    with pytest.raises(ValueError, match="at least 16 characters"):
        TokenAuthority("hunter2")


# --- driving ---------------------------------------------------------------------------------------------------------


def test_a_wrong_token_closes_the_connection(office):
    number = office.desk.connect("192.0.2.1", office.now)
    actions = office.say(number, "hello", token="wrong")
    assert codes(actions) == [401]
    assert [action.code for action in actions if isinstance(action, Disconnect)] == [4401]


def test_nothing_is_followed_before_the_hello(office):
    number = office.desk.connect("192.0.2.1", office.now)
    for kind, fields in (("drive", {"on": True, "vx": 1.0}), ("ask", {"what": "stop"}), ("wish", {"what": "invite"})):
        actions = office.say(number, kind, **fields)
        assert commands(actions) == []
        assert codes(actions) == [401]


def test_who_says_no_hello_is_sent_away(office):
    number = office.desk.connect("192.0.2.1", office.now)
    assert office.desk.tick(office.now + HELLO - 0.1) == []
    assert [action.client for action in office.desk.tick(office.now + HELLO + 0.1)] == [number]


def test_a_velocity_is_good_for_the_dead_mans_time(office):
    number = office.visitor()
    [action] = [action for action in office.drive(number) if isinstance(action, Forward)]
    assert action.body == DriveMessage(True, 1.0)
    assert action.until == office.now + DEAD_MAN


def test_without_the_dead_man_a_velocity_is_a_zero(office):
    number = office.visitor()
    office.drive(number)
    assert not any(body.moves for body in commands(office.say(number, "drive", on=False, vx=1.0)))


def test_the_second_one_watches(office):
    first, second = office.visitor(name="Ada"), office.visitor()
    office.drive(first)
    actions = office.drive(second)
    assert commands(actions) == []
    assert codes(actions) == [403]
    assert "Ada drives" in actions[0].fields["text"]


@pytest.mark.parametrize("what", ["stop", "estop"])
def test_everybody_can_stop_and_the_driver_must_let_go_first(office, what):
    first, second = office.visitor(), office.visitor()
    office.drive(first)
    assert commands(office.say(second, "ask", what=what)) == [DriveMessage(False), RequestMessage(what)]
    assert commands(office.drive(first)) == []
    office.say(first, "drive", on=False)
    assert commands(office.drive(first)) == [DriveMessage(True, 1.0)]


def test_after_a_stop_and_a_silence_the_driver_goes_on(office):
    number = office.visitor()
    office.drive(number)
    office.say(number, "ask", what="stop")
    for _ in range(20):
        office.now += 0.05
        assert commands(office.drive(number)) == []
    office.now += DEAD_MAN + 0.1
    assert commands(office.drive(number)) == [DriveMessage(True, 1.0)]


@pytest.mark.parametrize("what", ["stand", "sit", "rearm", "reset_world"])
def test_only_the_driver_asks_for_the_rest(office, what):
    first, second = office.visitor(), office.visitor()
    office.drive(first)
    assert commands(office.say(second, "ask", what=what)) == []
    assert commands(office.say(first, "ask", what=what)) == [RequestMessage(what)]


def test_the_wheel_is_handed_over_and_the_robot_stops(office):
    first, second = office.visitor(), office.visitor()
    office.drive(first)
    office.say(second, "seat", act="take")
    assert office.desk.driver == first
    assert commands(office.say(first, "seat", act="give", to=second)) == [DriveMessage(False)]
    assert office.desk.driver == second
    assert commands(office.drive(first)) == []
    assert commands(office.drive(second)) == [DriveMessage(True, 1.0)]


def test_only_the_driver_hands_over(office):
    first, second = office.visitor(), office.visitor()
    office.drive(first)
    assert codes(office.say(second, "seat", act="give", to=second)) == [403]
    assert office.desk.driver == first


def test_an_idle_driver_makes_place_for_who_asks(office):
    first, second = office.visitor(), office.visitor()
    office.drive(first)
    office.say(second, "seat", act="take")
    office.now += IDLE - 0.5
    office.desk.tick(office.now)
    assert office.desk.driver == first
    office.now += 1.0
    office.desk.tick(office.now)
    assert office.desk.driver == second


def test_a_driver_who_is_gone_stops_the_robot_and_frees_the_wheel(office):
    first, second = office.visitor(), office.visitor()
    office.drive(first)
    assert commands(office.desk.disconnect(first, office.now)) == [DriveMessage(False)]
    assert commands(office.drive(second)) == [DriveMessage(True, 1.0)]


def test_an_old_number_is_ignored(office):
    number = office.visitor()
    office.drive(number)
    office.count = 0
    assert office.drive(number) == []


def test_who_says_too_much_is_cut_short_but_can_stop(office):
    number = office.visitor()
    followed = sum(len(commands(office.drive(number))) for _ in range(int(4 * RATE)))
    assert followed <= 2 * RATE
    assert RequestMessage("stop") in commands(office.say(number, "ask", what="stop"))


def test_who_floods_is_sent_away(office):
    number = office.visitor()
    closed = [a for _ in range(FLOOD + 200) for a in office.drive(number) if isinstance(a, Disconnect)]
    assert closed


def test_twenty_messages_a_second_are_never_too_many(office):
    number = office.visitor()
    for _ in range(400):
        office.now += 0.02
        assert len(commands(office.drive(number))) == 1


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 2), MESSAGES, st.floats(0.0, 1.0)), max_size=30))
def test_no_message_raises_and_none_moves_the_robot_without_token_wheel_and_dead_man(talk):
    """Visitors 0 and 1 have a token, visitor 2 has none and does not know it."""
    office = Office()
    office.door = None
    visitors = [office.visitor(), office.visitor(), office.desk.connect("192.0.2.2", office.now)]
    stranger = visitors[2]
    for who, message, pause in talk:
        office.now += pause
        if who == 2 and TOKEN in message:
            continue
        before = office.desk.driver
        actions = office.desk.receive(visitors[who], message, office.now) + office.desk.tick(office.now)
        for action in actions:
            if not isinstance(action, Forward) or (isinstance(action.body, DriveMessage) and not action.body.moves):
                continue
            assert action.client == visitors[who] != stranger
            if isinstance(action.body, DriveMessage):
                assert '"on": true' in message
                assert max(abs(action.body.vx), abs(action.body.vy), abs(action.body.wz)) <= 1.0
                assert action.until <= office.now + DEAD_MAN
            if not isinstance(action.body, (RequestMessage, protocol.QueryMessage)):
                assert before in (0, action.client)
        if any(isinstance(action, Disconnect) and action.client == stranger for action in actions):
            office.desk.disconnect(stranger, office.now)
