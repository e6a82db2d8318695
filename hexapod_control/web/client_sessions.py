"""Who may do what, and for how long: one driver, others watch, everybody can stop. Pure: time is handed in.

`receive` never raises: whatever a page sends becomes a list of actions, and a motion only comes out of it for a
person with a valid token who sits in the driver's seat and holds the dead-man.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hexapod_control.web import protocol
from hexapod_control.web.protocol import (
    ALWAYS,
    DRIVERS,
    ControlMessage,
    DriveMessage,
    HeartbeatMessage,
    HelloMessage,
    MessageBody,
    RefusedMessage,
    RequestMessage,
)

DEAD_MAN = 0.5  # [s] a velocity is good for
HELLO = 3.0  # [s] for the first message
IDLE = 10.0  # [s] without a command after which a driver who is asked loses the seat
RATE, BURST = 90.0, 120.0  # messages per second, and at once; more are dropped
FLOOD = 600  # dropped messages after which the connection is closed
BAD = 50  # messages that make no sense, likewise
CLIENTS = 24  # at a time
POLICY, UNAUTHORISED, TIMEOUT, UPGRADE = 4400, 4401, 4408, 4426  # close codes


@dataclass(frozen=True, slots=True)
class Send:
    """A message to one client, or to all of them (client 0)."""

    client: int
    kind: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Forward:
    """A command for the robot."""

    client: int
    body: MessageBody
    until: float = 0.0  # [s] a Drive is good until then


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The end of a connection."""

    client: int
    code: int
    text: str


Action = Send | Forward | Disconnect


@dataclass(slots=True)
class PageClient:
    """One connection."""

    number: int
    address: str
    since: float  # [s]
    name: str = ""
    known: bool = False  # it has shown a token
    sequence: int = -1
    tokens: float = BURST
    filled: float = 0.0  # [s]
    dropped: int = 0
    bad: int = 0
    told: float = field(default=-1e9)  # [s] of the last complaint


class ClientSessions:
    """All connections."""

    def __init__(self, admit: Callable[[str, str, str, float], str], greet: Callable[[], dict[str, Any]]) -> None:
        """`admit(token, key, address, now)` gives a key or raises Refused; `greet` what a newcomer is told."""
        self._admit = admit
        self._greet = greet
        self.clients: dict[int, PageClient] = {}
        self.driver = 0  # number of the client in the seat, 0: nobody
        self.asking: list[int] = []
        self._count = 0
        self._last_command = -1e9  # [s] of the driver
        self._blocked = False  # after a stop, until the driver lets go or is silent
        self._heard = -1e9  # [s] of the driver's last velocity
        self._moving_until = -1e9  # [s]

    # --- coming and going -----------------------------------------------------------------------------------

    def connect(self, address: str, now: float) -> int:
        """The number of a new connection. Raises Refused if there are too many."""
        if len(self.clients) >= CLIENTS:
            raise RefusedMessage(503, f"{CLIENTS} pages are open already")
        self._count += 1
        self.clients[self._count] = PageClient(self._count, address, now, filled=now)
        return self._count

    def disconnect(self, number: int, now: float) -> list[Action]:
        """A connection has ended: what it drove stops."""
        client = self.clients.pop(number, None)
        if client is None:
            return []
        if number in self.asking:
            self.asking.remove(number)
        actions: list[Action] = []
        if number == self.driver:
            actions = self._free(now)
        return [*actions, self._seats()] if client.known else actions

    def tick(self, now: float) -> list[Action]:
        """Time passes: late newcomers go, an idle driver makes place for who asks."""
        late = [c for c in self.clients.values() if not c.known and now - c.since > HELLO]
        actions: list[Action] = [Disconnect(c.number, TIMEOUT, "no hello in time") for c in late]
        if self.asking and now - self._last_command > IDLE:
            actions += [*self._free(now), self._seats()]
        return actions

    # --- messages ---------------------------------------------------------------------------------------------

    def receive(self, number: int, text: str, now: float) -> list[Action]:
        """What a message of a client leads to."""
        client = self.clients.get(number)
        if client is None:
            return []
        try:
            message = protocol.parse(text)
        except RefusedMessage as refusal:
            return self._complain(client, refusal, now)
        body = message.body
        urgent = client.known and isinstance(body, RequestMessage) and body.what in ALWAYS
        if not self._in_time(client, now):
            flooded = self._flooded(client, now)
            if not urgent:
                return flooded
        if message.sequence <= client.sequence:
            return []
        client.sequence = message.sequence
        try:
            return self._hello(client, body, now) if isinstance(body, HelloMessage) else self._follow(client, body, now)
        except RefusedMessage as refusal:
            return self._complain(client, refusal, now)

    def _hello(self, client: PageClient, hello: HelloMessage, now: float) -> list[Action]:
        if client.known:
            raise RefusedMessage(400, "you have said hello already")
        key = self._admit(hello.token, hello.key, client.address, now)
        client.known, client.name = True, hello.name.strip() or f"visitor {client.number}"
        welcome = {**self._greet(), "you": client.number, "key": key}
        return [Send(client.number, "welcome", welcome), self._seats()]

    def _follow(self, client: PageClient, body: MessageBody, now: float) -> list[Action]:
        if not client.known:
            raise RefusedMessage(401, "say hello with a valid token first")
        if isinstance(body, HeartbeatMessage):
            return [Send(client.number, "beat", {"echo": body.echo})]
        if isinstance(body, ControlMessage):
            return self._seat(client, body, now)
        if isinstance(body, RequestMessage) and body.what in ALWAYS:
            return self._stop(client, body)
        if not isinstance(body, DRIVERS):
            return [Forward(client.number, body)]
        actions: list[Action] = []
        if self.driver == 0 and not (isinstance(body, DriveMessage) and not body.moves):
            self.driver = client.number
            actions.append(self._seats())
        if self.driver != client.number:
            if isinstance(body, DriveMessage) and not body.moves:
                return []
            raise RefusedMessage(403, f"{self._name(self.driver)} drives: ask for the wheel first")
        return [*actions, *self._command(client, body, now)]

    def _command(self, client: PageClient, body: MessageBody, now: float) -> list[Action]:
        if not isinstance(body, DriveMessage):
            self._last_command = now
            return [Forward(client.number, body)]
        if not body.moves:
            self._blocked = False
            was = now < self._moving_until
            self._moving_until = -1e9
            return [Forward(client.number, DriveMessage(False), now)] if was else []
        silent, self._heard = now - self._heard > DEAD_MAN, now
        if self._blocked and not silent:
            return []
        self._blocked = False
        self._last_command, self._moving_until = now, now + DEAD_MAN
        return [Forward(client.number, body, now + DEAD_MAN)]

    def _stop(self, client: PageClient, body: RequestMessage) -> list[Action]:
        self._blocked = True
        self._moving_until = -1e9
        told = Send(0, "stopped", {"what": body.what, "by": client.name})
        return [Forward(client.number, DriveMessage(False)), Forward(client.number, body), told]

    # --- the driver's seat ------------------------------------------------------------------------------------

    def _seat(self, client: PageClient, seat: ControlMessage, now: float) -> list[Action]:
        mine = self.driver == client.number
        if seat.act == "take" and not mine:
            if client.number not in self.asking:
                self.asking.append(client.number)
            free = self.driver == 0 or now - self._last_command > IDLE
            return [*(self._free(now) if free else []), self._seats()]
        if seat.act == "leave" and mine:
            return [*self._free(now), self._seats()]
        if seat.act == "leave" and client.number in self.asking:
            self.asking.remove(client.number)
            return [self._seats()]
        if seat.act == "give" and mine:
            heir = self.clients.get(seat.to)
            if heir is None or not heir.known:
                raise RefusedMessage(404, "nobody of that number is here")
            self.asking = [heir.number, *(n for n in self.asking if n != heir.number)]
            return [*self._free(now), self._seats()]
        if seat.act == "give":
            raise RefusedMessage(403, "only the driver can hand over the wheel")
        return []

    def _free(self, now: float) -> list[Action]:
        """Takes the seat from the driver, who stops, and gives it to who asked first."""
        before, self.driver = self.driver, self.asking.pop(0) if self.asking else 0
        self._last_command, self._moving_until, self._blocked = now, -1e9, False
        return [Forward(before, DriveMessage(False), now)] if before else []

    def _seats(self) -> Send:
        people = [{"id": c.number, "name": c.name} for c in self.clients.values() if c.known]
        return Send(0, "seats", {"driver": self.driver, "asking": list(self.asking), "people": people})

    def _name(self, number: int) -> str:
        client = self.clients.get(number)
        return client.name if client else "nobody"

    @property
    def driver_name(self) -> str:
        """Who drives; empty: nobody."""
        return self._name(self.driver) if self.driver else ""

    # --- too much and too bad -----------------------------------------------------------------------------------

    @staticmethod
    def _in_time(client: PageClient, now: float) -> bool:
        client.tokens = min(BURST, client.tokens + RATE * max(0.0, now - client.filled))
        client.filled = now
        if client.tokens < 1.0:
            return False
        client.tokens -= 1.0
        return True

    def _flooded(self, client: PageClient, now: float) -> list[Action]:
        client.dropped += 1
        if client.dropped > FLOOD:
            return [Disconnect(client.number, POLICY, "far too many messages")]
        return self._tell(client, RefusedMessage(429, f"more than {RATE:g} messages/s: dropped"), now)

    def _complain(self, client: PageClient, refusal: RefusedMessage, now: float) -> list[Action]:
        if not client.known:
            code = UPGRADE if refusal.code == 426 else UNAUTHORISED
            told = Send(client.number, "refused", {"code": refusal.code, "text": refusal.text})
            return [told, Disconnect(client.number, code, refusal.text)]
        if refusal.code in (400, 413, 426):
            self._in_time(client, now)
            client.bad += 1
            if client.bad > BAD:
                return [Disconnect(client.number, POLICY, "too many messages that make no sense")]
        return self._tell(client, refusal, now)

    @staticmethod
    def _tell(client: PageClient, refusal: RefusedMessage, now: float) -> list[Action]:
        if now - client.told < 0.5:
            return []
        client.told = now
        return [Send(client.number, "refused", {"code": refusal.code, "text": refusal.text})]
