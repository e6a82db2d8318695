"""Node web: the page in the browser. What it shows comes from web_feed, what it asks goes through web_commands.

The page's server has a thread of its own; commands come over a queue and wake this node's executor. The dead-man
counts here, with the time at which a command arrived: it works even if the server's thread hangs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.nodes.web.page_commands import PageCommands
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.nodes.web.settings import WebSettings
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.web import page_address
from hexapod_control.web.access_control import HostPolicy, TokenAuthority, loopback
from hexapod_control.web.client_sessions import ClientSessions, Forward
from hexapod_control.web.page_state import shape
from hexapod_control.web.protocol import WORLDS, QueryMessage
from hexapod_control.web.server import PageServer

STATUS = 0.5  # [s] between two reports of what changes slowly
EVERYWHERE = "0.0.0.0"


class WebNode(GuardedNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for input it cannot work with."""
        super().__init__("web", **options)
        self.settings = settings = declare(self, WebSettings)
        robot_file = load(settings.robot)
        self._urdf = urdf(robot_file)
        self._shape = shape(robot_file.robot)
        self._bind = EVERYWHERE if settings.lan else settings.bind
        self.public = not loopback(self._bind)
        self._doorkeeper = _doorkeeper(settings, self.public)
        self._watchers = 0
        self._newcomer = False
        self._inbox: SimpleQueue[Forward] = SimpleQueue()
        hosts = [*page_address.names(self._bind), *(host.strip() for host in settings.allowed_hosts.split(","))]
        self.desk = ClientSessions(self._admit, self._greet)
        self.server = PageServer(self.desk, HostPolicy(hosts, literal=self.public), self._put, self._watch)
        self.feed = RobotFeed(self, robot_file.robot, settings.enable_stamped_cmd_vel, self._refused)
        self.commands = PageCommands(self, self.feed, self.server.tell, settings.enable_stamped_cmd_vel)
        self._report_timer = self.create_timer(STATUS, self._report, clock=self.steady)
        self._report_timer.cancel()  # runs while somebody looks
        self._open()

    def _open(self) -> None:
        try:
            self.server.start(self._bind, self.settings.port, self._look, self.settings.rate)
        except OSError as error:
            reason = error.strerror or str(error)
            text = f"port: {self._bind}:{self.settings.port} cannot be opened ({reason}); choose another port, or 0"
            raise ParameterError(text) from None
        self._invite()

    # --- in the server's thread ---------------------------------------------------------------------------------

    def _admit(self, token: str, key: str, remote: str, now: float) -> str:
        granted = self._doorkeeper.admit(token, key, remote, now)
        if granted != key and self.public and not self.settings.token:
            self._invite()  # the last invitation is used up
        return granted

    def invitation(self) -> str:
        """The address of the page for one more person."""
        host = (page_address.addresses() or ["127.0.0.1"])[0] if self._bind == EVERYWHERE else self._bind
        return page_address.url(host, self.server.port, self._doorkeeper.invite())

    def _invite(self) -> None:
        url = self.invitation()
        lines = [f"the page: {url}"]
        if self.public:
            lines = [*page_address.qr_lines(url), f"the page, an invitation for one person: {url}"]
        print(*lines, sep="\n", flush=True)

    def _greet(self) -> Mapping[str, Any]:
        return {"shape": self._shape, "worlds": WORLDS}

    def _put(self, command: Forward) -> None:
        self._inbox.put(command)
        self.run_in_executor(self._drain)

    def _watch(self, people: int) -> None:
        self._newcomer = self._newcomer or people > self._watchers
        self._watchers = people
        self.run_in_executor(self._drain)

    def _look(self) -> Mapping[str, Any] | None:
        try:
            return self.feed.state()
        except Exception as error:
            self.failed("look", error)
            return None

    # --- in the executor ----------------------------------------------------------------------------------------

    def _drain(self) -> None:
        while True:
            try:
                command = self._inbox.get_nowait()
            except Empty:
                break
            if isinstance(command.body, QueryMessage):
                self._grant(command.client, command.body)
            else:
                self.commands.follow(command)
        if not self._watchers:
            self._report_timer.cancel()
        elif self._report_timer.is_canceled():
            self._report_timer.reset()
        if self._newcomer:
            self._newcomer = False
            self._report()

    def _grant(self, client: int, wish: QueryMessage) -> None:
        if wish.what == "urdf":
            self.server.tell(client, "urdf", {"text": self._urdf})
        else:
            url = self.invitation()
            once = self.public and not self.settings.token
            self.server.tell(client, "invitation", {"url": url, "rows": page_address.qr_rows(url), "once": once})

    def _report(self) -> None:
        self.server.tell(0, "status", self.feed.status())

    def _refused(self, motion: str, reason: str) -> None:
        self.server.tell(0, "answer", {"what": motion, "ok": False, "text": reason})

    def every_second(self) -> None:
        """Looks after services that do not answer."""
        self.commands.watch()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {"pages": self._watchers, "driver": self.desk.driver_name or "none", "port": self.server.port}

    def safe_stop(self, callback: str) -> None:
        """A zero velocity."""
        self.commands.halt()

    def request_stop(self) -> None:
        """A zero, and the pages are told."""
        self.commands.end()
        self.server.close()

    def publish_final_state(self) -> None:
        """A last zero, if this node was driving."""
        self.commands.end()


def _doorkeeper(settings: WebSettings, public: bool) -> TokenAuthority:
    try:
        return TokenAuthority(settings.token, once=public)
    except ValueError as error:
        raise ParameterError(str(error)) from None


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    return run(WebNode, args)


if __name__ == "__main__":
    sys.exit(main())
