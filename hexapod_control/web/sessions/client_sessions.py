# SPDX-License-Identifier: Apache-2.0
"""Sessions of all clients of the page: one client drives, the others watch, every client can stop the robot.

No sockets and no clock: methods take messages and the time, and return actions for the server. A velocity is forwarded
only for a client that has a valid token, is the driver, and holds the dead-man switch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hexapod_control.web import protocol
from hexapod_control.web.protocol import (
    ALWAYS_ALLOWED,
    ControlMessage,
    DriveMessage,
    HeartbeatMessage,
    HelloMessage,
    MessageBody,
    NameMessage,
    RefusedMessageError,
    RequestMessage,
)

# messages of a client per second, and in a burst; more are dropped
MAX_RATE = 90.0
MAX_BURST = 120.0
LONG_AGO = -1e9  # [s]
DEAD_MAN_S = 0.5  # validity of a velocity
HELLO_TIME_S = 3.0  # time limit for the first message
CROWD = 2  # connections of one address that may wait for their first message longer than CROWD_TIME_S
CROWD_TIME_S = 0.5
MAX_IDLE_S = 10.0  # without a command; then the driver loses control to a client that requests it
REFUSAL_PERIOD_S = 0.5  # shortest time between two refusals sent to one client
MAX_DROPPED = 600  # dropped messages of a client; then its connection is closed
MAX_INVALID = 50  # invalid messages of a client; then its connection is closed
MAX_CLIENTS = 24  # pages with a valid token at a time
# close codes
POLICY = 4400
UNAUTHORISED = 4401
TIMEOUT = 4408
UPGRADE = 4426
FULL = 4429


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
    until: float = 0.0  # [s] when a DriveMessage expires


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Closes a connection."""

    client: int
    code: int
    text: str


Action = Send | Forward | Disconnect


class ClientSessions:
    """All connections of the page, and the driver among them.

    `disconnect`, `tick` and `receive` take the present time [s] and return the actions that the server has to perform,
    in this order.
    """

    def __init__(
        self,
        admit: Callable[[str, str, str, float], str],
        greet: Callable[[], Mapping[str, Any]],
        stopped: Callable[[str, str], None] = lambda what, by: None,
    ) -> None:
        """`admit(token, key, address, now)` returns a key or raises RefusedMessageError; `greet` returns the welcome.

        `stopped(what, by)` is called with the reason of a stop: stop or estop, link (the connection of the driving
        client broke) or silence (its velocities did not arrive).
        """
        self._admit = admit
        self._greet = greet
        self._note_stop = stopped
        self.clients: dict[int, PageClient] = {}
        self.driver = 0  # number of the client that drives; 0: none
        self.waiting: list[int] = []  # clients that request control, in the order of their requests
        self._count = 0
        self._last_command = LONG_AGO  # [s] of the driver
        self._blocked = False  # after a stop, until the driver releases the dead-man switch or is silent
        self._last_velocity = LONG_AGO  # [s] of the driver
        self._moving_until = LONG_AGO  # [s]

    # --- connections -----------------------------------------------------------------------------------

    def connect(self, address: str, now: float) -> int:
        """Returns the number of a new connection."""
        self._count += 1
        self.clients[self._count] = PageClient(self._count, address, now, refilled=now)
        return self._count

    def disconnect(self, number: int, now: float) -> list[Action]:
        """Removes a connection that has ended; if it was the driver, the robot stops."""
        client = self.clients.pop(number, None)
        if client is None:
            return []
        if number in self.waiting:
            self.waiting.remove(number)
        actions: list[Action] = []
        if number == self.driver:
            if now < self._moving_until:
                self._note_stop("link", client.name)
            actions = self._pass_control(now)
        return [*actions, self._control_state()] if client.admitted else actions

    def tick(self, now: float) -> list[Action]:
        """Closes connections without a hello and takes control away from an idle driver; call it regularly."""
        actions: list[Action] = [Disconnect(c.number, TIMEOUT, "no hello in time") for c in self._late(now)]
        if LONG_AGO < self._moving_until < now:
            self._moving_until = LONG_AGO
            self._note_stop("silence", self.driver_name)
        if self.waiting and now - self._last_command > MAX_IDLE_S:
            actions += [*self._pass_control(now), self._control_state()]
        return actions

    def _late(self, now: float) -> list[PageClient]:
        """The connections whose hello is overdue, the sooner the more of one address wait for theirs."""
        late = []
        waiting = Counter[str]()
        for client in reversed(self.clients.values()):  # the newest first
            if not client.admitted:
                crowded = waiting[client.address] >= CROWD
                waiting[client.address] += 1
                if now - client.since > (CROWD_TIME_S if crowded else HELLO_TIME_S):
                    late.append(client)
        return late

    # --- messages ---------------------------------------------------------------------------------------------

    def receive(self, number: int, text: str, now: float) -> list[Action]:
        """Handles a message of a client; never raises."""
        client = self.clients.get(number)
        if client is None:
            return []
        try:
            message = protocol.parse(text)
        except RefusedMessageError as refusal:
            return self._refused(client, refusal, now)
        body = message.body
        urgent = client.admitted and isinstance(body, RequestMessage) and body.what in ALWAYS_ALLOWED
        if not client.within_rate(now):
            flooded = self._flooded(client, now)
            if not urgent:
                return flooded
        if message.sequence <= client.sequence:
            return []
        client.sequence = message.sequence
        try:
            return self._hello(client, body, now) if isinstance(body, HelloMessage) else self._follow(client, body, now)
        except RefusedMessageError as refusal:
            return self._refused(client, refusal, now)

    def _hello(self, client: PageClient, hello: HelloMessage, now: float) -> list[Action]:
        if client.admitted:
            raise RefusedMessageError(400, "hello was sent already")
        if sum(each.admitted for each in self.clients.values()) >= MAX_CLIENTS:
            raise RefusedMessageError(503, f"{MAX_CLIENTS} pages are open already: close one of them")
        key = self._admit(hello.token, hello.key, client.address, now)
        client.admitted = True
        client.key = key
        client.name = self._unique(client, hello.name)
        welcome = {**self._greet(), "you": client.number, "key": key}
        return [Send(client.number, "welcome", welcome), self._control_state()]

    def _follow(self, client: PageClient, body: MessageBody, now: float) -> list[Action]:
        if not client.admitted:
            raise RefusedMessageError(401, "send hello with a valid token first")
        if isinstance(body, HeartbeatMessage):
            return [Send(client.number, "heartbeat", {"echo": body.echo})]
        if isinstance(body, NameMessage):
            client.name = self._unique(client, body.name)
            return [self._control_state()]
        if isinstance(body, ControlMessage):
            return self._change_control(client, body, now)
        if isinstance(body, RequestMessage) and body.what in ALWAYS_ALLOWED:
            return self._stop(client, body)
        if not protocol.needs_control(body):
            return [Forward(client.number, body)]
        actions: list[Action] = []
        if self.driver == 0 and not (isinstance(body, DriveMessage) and not body.moves):
            self.driver = client.number
            actions.append(self._control_state())
        if self.driver != client.number:
            if isinstance(body, DriveMessage) and not body.moves:
                return []
            raise RefusedMessageError(403, f"{self.name(self.driver)} drives: request control first")
        return [*actions, *self._command(client, body, now)]

    def _command(self, client: PageClient, body: MessageBody, now: float) -> list[Action]:
        if not isinstance(body, DriveMessage):
            self._last_command = now
            return [Forward(client.number, body)]
        if not body.moves:
            self._blocked = False
            moving = now < self._moving_until
            self._moving_until = LONG_AGO
            return [Forward(client.number, DriveMessage(False), now)] if moving else []
        silent = now - self._last_velocity > DEAD_MAN_S
        self._last_velocity = now
        if self._blocked and not silent:
            return []
        self._blocked = False
        self._last_command = now
        self._moving_until = now + DEAD_MAN_S
        return [Forward(client.number, body, now + DEAD_MAN_S)]

    def _stop(self, client: PageClient, body: RequestMessage) -> list[Action]:
        self._blocked = True
        self._moving_until = LONG_AGO
        self._note_stop(body.what, client.name)
        stopped = Send(0, "stopped", {"what": body.what, "by": client.name, "client": client.number})
        return [Forward(client.number, DriveMessage(False)), Forward(client.number, body), stopped]

    # --- control ------------------------------------------------------------------------------------

    def _change_control(self, client: PageClient, request: ControlMessage, now: float) -> list[Action]:
        drives = self.driver == client.number
        if request.act == "give":
            return self._hand_over(drives, request.to, now)
        if request.act == "take":
            return [] if drives else self._request_control(client.number, now)
        if request.act == "keep":
            return self._keep_control(client, now) if drives else []
        if drives:
            return [*self._pass_control(now), self._control_state()]
        return self._withdraw_request(client.number)

    def _request_control(self, number: int, now: float) -> list[Action]:
        if number not in self.waiting:
            self.waiting.append(number)
        free = self.driver == 0 or now - self._last_command > MAX_IDLE_S
        return [*(self._pass_control(now) if free else []), self._control_state()]

    def _withdraw_request(self, number: int) -> list[Action]:
        if number not in self.waiting:
            return []
        self.waiting.remove(number)
        return [self._control_state()]

    def _hand_over(self, drives: bool, to: int, now: float) -> list[Action]:
        if not drives:
            raise RefusedMessageError(403, "only the driver can hand over control")
        successor = self.clients.get(to)
        if successor is None or not successor.admitted:
            raise RefusedMessageError(404, f"there is no client {to}")
        self.waiting = [to, *(number for number in self.waiting if number != to)]
        return [*self._pass_control(now), self._control_state()]

    def _keep_control(self, driver: PageClient, now: float) -> list[Action]:
        """Refuses all requests for control; the driver counts as active."""
        refused = {"what": "control", "ok": False, "text": f"{driver.name} keeps control"}
        told: list[Action] = [Send(number, "answer", refused) for number in self.waiting]
        self._last_command = now
        self.waiting = []
        return [*told, self._control_state()]

    def _pass_control(self, now: float) -> list[Action]:
        """Stops the driver and makes the first waiting client the driver."""
        before = self.driver
        self.driver = self.waiting.pop(0) if self.waiting else 0
        self._last_command = now
        self._moving_until = LONG_AGO
        self._blocked = False
        return [Forward(before, DriveMessage(False), now)] if before else []

    def _control_state(self) -> Send:
        people = [{"id": c.number, "name": c.name} for c in self.clients.values() if c.admitted]
        return Send(0, "control", {"driver": self.driver, "asking": list(self.waiting), "people": people})

    def _unique(self, client: PageClient, name: str) -> str:
        """A name that no other person has, if need be with a number; windows of one browser have the same key."""
        wanted = name.strip() or "visitor"
        taken = {each.name for each in self.clients.values() if each.admitted and each.key != client.key}
        return next(
            each for each in (wanted, *(f"{wanted} {n}" for n in range(2, MAX_CLIENTS + 2))) if each not in taken
        )

    def name(self, number: int) -> str:
        """Name of a client."""
        client = self.clients.get(number)
        return client.name if client else "no client"

    @property
    def driver_name(self) -> str:
        """Name of the driver; empty if no client drives."""
        return self.name(self.driver) if self.driver else ""

    # --- limits -----------------------------------------------------------------------------------

    def _flooded(self, client: PageClient, now: float) -> list[Action]:
        client.dropped += 1
        if client.dropped > MAX_DROPPED:
            return [Disconnect(client.number, POLICY, "far too many messages")]
        return self._refuse(client, RefusedMessageError(429, f"more than {MAX_RATE:g} messages/s: dropped"), now)

    def _refused(self, client: PageClient, refusal: RefusedMessageError, now: float) -> list[Action]:
        if not client.admitted:
            code = {426: UPGRADE, 503: FULL}.get(refusal.code, UNAUTHORISED)
            refused = Send(client.number, "refused", {"code": refusal.code, "text": refusal.text})
            return [refused, Disconnect(client.number, code, refusal.text)]
        if refusal.code in (400, 413, 426):
            client.within_rate(now)
            client.invalid += 1
            if client.invalid > MAX_INVALID:
                return [Disconnect(client.number, POLICY, "too many invalid messages")]
        return self._refuse(client, refusal, now)

    @staticmethod
    def _refuse(client: PageClient, refusal: RefusedMessageError, now: float) -> list[Action]:
        if now - client.refused_at < REFUSAL_PERIOD_S:
            return []
        client.refused_at = now
        return [Send(client.number, "refused", {"code": refusal.code, "text": refusal.text})]


@dataclass(slots=True)
class PageClient:
    """The connection of one client."""

    number: int
    address: str
    since: float  # [s]
    name: str = ""
    admitted: bool = False  # has presented a valid token
    key: str = ""  # of its browser
    sequence: int = -1
    quota: float = MAX_BURST  # messages that are accepted now (token bucket)
    refilled: float = 0.0  # [s]
    dropped: int = 0
    invalid: int = 0
    refused_at: float = LONG_AGO  # [s] time of the last refusal sent to it

    def within_rate(self, now: float) -> bool:
        """Counts a message at time `now` [s]. Returns False if it is one too many."""
        self.quota = min(MAX_BURST, self.quota + MAX_RATE * max(0.0, now - self.refilled))
        self.refilled = now
        if self.quota < 1.0:
            return False
        self.quota -= 1.0
        return True
