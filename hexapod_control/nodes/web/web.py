# SPDX-License-Identifier: Apache-2.0
"""Node web: serves the web page. robot_feed provides its data, page_commands carries out its commands.

The server has its own thread; commands arrive through a queue and wake the executor of this node. The dead-man is
checked in the executor, by the time at which a command arrived: it works even if the server's thread hangs.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.names import HARDWARE_NODES
from hexapod_control.core.reality import REALITIES
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.nodes.announcements import local_announcement
from hexapod_control.nodes.odometry.stored_values import usage_folder
from hexapod_control.nodes.web.camera_feed import CameraFeed
from hexapod_control.nodes.web.command_queue import CommandQueue
from hexapod_control.nodes.web.computer_shutdown import DOWN, ComputerShutdown
from hexapod_control.nodes.web.diagnostics_summary import EventLog, LogEvent
from hexapod_control.nodes.web.fault_report import FaultReport
from hexapod_control.nodes.web.kept_files import Dances, Profiles, RobotFileSettings
from hexapod_control.nodes.web.laboratory_process import LaboratoryProcess
from hexapod_control.nodes.web.navigation_goal import NavigationGoal
from hexapod_control.nodes.web.newer_version import installed_version, newer_version
from hexapod_control.nodes.web.page_commands import PageCommands
from hexapod_control.nodes.web.recordings.page_recorder import PageRecorder
from hexapod_control.nodes.web.recordings.recording_folder import RecordingFolder
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.nodes.web.route_walk import RouteWalk
from hexapod_control.nodes.web.settings import WebSettings
from hexapod_control.nodes.web.weekly_record import KeptWeeks
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.graph_identity import started_graph
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.started_files import started_mapping, started_robot
from hexapod_control.web import page_address
from hexapod_control.web.certificate import CertificateError
from hexapod_control.web.page_state import shape
from hexapod_control.web.protocol import (
    RESTART,
    SHUTDOWN,
    VIDEO,
    DanceMessage,
    LaboratoryMessage,
    NodeMessage,
    ProfileMessage,
    QueryMessage,
    RecordingMessage,
    RequestMessage,
    RouteMessage,
)
from hexapod_control.web.robot_condition import RESTARTABLE_NODES
from hexapod_control.web.server import PageServer
from hexapod_control.web.sessions.access_control import HostPolicy, TokenAuthority, is_loopback
from hexapod_control.web.sessions.client_sessions import ClientSessions, Forward

STOP_LEVELS = {"stop": 0, "estop": 2, "link": 1, "silence": 1}  # cause of a stop, with its level in the log
STRANGERS_PERIOD_S = 60.0  # between two log lines about them
REMEDY = "find out who opens them, or restrict the page by the parameter bind"
# of one node: after more restarts within this time the program that started it ends all nodes
MAX_RESTARTS = 2
RESTART_WINDOW_S = 60.0
START_TIME_S = 10.0  # for a node to start
STATUS_PERIOD_S = 0.5  # between two messages of slowly changing values


class WebNode(GuardedNode):
    """Connects the page's server with ROS."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError."""
        super().__init__("web", **options)
        self.settings = settings = declare(self, WebSettings)
        robot_file = started_robot(settings.robot)
        self._urdf = urdf(robot_file)
        self._shape = shape(robot_file.robot)
        self._version = installed_version()
        self._bind = page_address.ALL_ADDRESSES if settings.lan else settings.bind
        self.public = not is_loopback(self._bind)
        self._tokens = _token_authority(settings, self.public)
        self._client_count = 0  # admitted clients
        self._displaced = 0  # connections without a valid token
        self._new_client = False
        self._inbox = CommandQueue()
        hosts = [*page_address.names(self._bind), *(host.strip() for host in settings.allowed_hosts.split(","))]
        self.sessions = ClientSessions(self._admit, self._greet, self._queue_stop)
        self._stops: SimpleQueue[tuple[str, str]] = SimpleQueue()  # cause of a stop, and the client
        self._log = EventLog()
        policy = HostPolicy(hosts, literal=self.public)
        self.server = self._create_server(policy)
        mapping = started_mapping(settings.joint_mapping, robot_file.robot)
        self._processes = SiblingProcesses(self.get_namespace())
        self.feed = RobotFeed(
            self, robot_file.robot, settings.enable_stamped_cmd_vel, self._refused, mapping, self._processes.can_restart
        )
        self.camera = CameraFeed(self, robot_file.robot, self.server.send)
        folder = RecordingFolder(_recordings_path(settings.recordings), round(1e6 * settings.recordings_limit))
        files = settings.robot, settings.joint_mapping
        self._recorder = PageRecorder(self, folder, self.server.downloads, files, self._reply)
        self._report = FaultReport(
            self,
            (self._recorder, folder),
            self.server.downloads,
            (robot_file.path, usage_folder() / "fault_report.zip"),
            lambda: {"log": self._log.events, **self._status()},
            self.server.send,
        )
        self._laboratory = LaboratoryProcess(
            settings.robot, self.server.send, self._gait_saved, lambda: self.feed.simulated
        )
        self.feed.on_terrain = lambda: self._send_terrain(0)
        self.feed.on_said = lambda said: self.server.send(0, "said", {"list": [said]})
        self.commands = PageCommands(self, self.feed, self._reply, settings.enable_stamped_cmd_vel)
        self._routes = RouteWalk(
            self, robot_file.robot, self.feed, self.commands, self.server.send, self._note, usage_folder() / "routes"
        )
        height = robot_file.robot.walk.height
        self._dances = Dances(self, height, usage_folder() / "dances", self.commands.play, self.server.send)
        self._profiles = Profiles(self, usage_folder() / "profiles", self.server.send)
        self._robot_file = RobotFileSettings(self, settings.robot, self._reply, self._note)
        self._weeks = KeptWeeks(self, f"{self.get_namespace()}{robot_file.robot.name}", self.server.send)
        self._navigation = NavigationGoal(self, self.feed, self.server.send, self._note)
        self._shutdown = self._create_shutdown(settings.shutdown_command)
        self._executions = self._by_message()
        self._status_timer = self.create_timer(STATUS_PERIOD_S, self._send_status, clock=self.steady)
        self._status_timer.cancel()  # runs while there is a client
        self._trouble: tuple[ReportLevel, str] | None = None  # level and text of a failure to open the port
        self._open()

    def _create_server(self, policy: HostPolicy) -> PageServer:
        folder = self.settings.certificate
        path = Path(folder).expanduser() if folder else None
        connect = self._queue_command, self._count_clients, self._state
        try:
            return PageServer(self.sessions, policy, *connect, self.settings.rate, path)
        except CertificateError as error:
            raise ParameterError(f"certificate: {error}") from None

    def _create_shutdown(self, command: str) -> ComputerShutdown:
        def sit() -> None:
            self.commands.execute(Forward(0, RequestMessage("sit")))

        try:
            return ComputerShutdown(self, command, self.feed, sit, self._note)
        except ValueError as error:
            raise ParameterError(f"shutdown_command: {error}") from None

    def _by_message(self) -> Mapping[type, Callable[[Any], None]]:
        """What carries a command out, by the class of its message; `_command` does for all others."""
        return {
            QueryMessage: lambda command: self._answer(command.client, command.body),
            RecordingMessage: lambda command: self._recorder.execute(command.client, command.body),
            LaboratoryMessage: lambda command: self._laboratory.request(command.client, command.body),
            ProfileMessage: self._keep_settings,
            RouteMessage: self._route,
            DanceMessage: self._dance,
            NodeMessage: lambda command: self._restart(command.client, command.body.name),
        }

    def _open(self) -> None:
        wanted = self.settings.port
        try:
            self.server.start(self._bind, wanted)
        except OSError as error:
            reason = error.strerror or str(error)
            self._trouble = (
                ReportLevel.ERROR,
                f"the page is absent: {self._bind}:{wanted} cannot be opened ({reason}); "
                "set bind to an address of this machine, or port to 0",
            )
        else:
            if wanted not in (0, self.server.port):
                text = f"port {wanted} is in use by another program: the page is at port {self.server.port}"
                self._trouble = ReportLevel.WARNING, text
            self._invite()
        self._report_port()

    def _report_port(self) -> None:
        """Reports that the page has another port or none; /diagnostics shows it from then on."""
        if self._trouble is not None:
            self.report("page", *self._trouble, every=math.inf)

    # --- in the server's thread ---------------------------------------------------------------------------------

    def _admit(self, token: str, key: str, remote: str, now: float) -> str:
        granted = self._tokens.admit(token, key, remote, now)
        if granted != key and self.public and not self.settings.token:
            self._invite()  # the last invitation is used up
        return granted

    def invitations(self) -> list[str]:
        """The addresses of the page with a token for one more client, the best one first."""
        scheme = "https" if self.settings.certificate else "http"
        return page_address.urls(self._bind, self.server.port, self._tokens.invite(), scheme)

    def _invite(self) -> None:
        print(*page_address.invitation_lines(self.invitations(), self.public), sep="\n", flush=True)

    def _greet(self) -> Mapping[str, Any]:
        return {"shape": self._shape, "worlds": WORLDS, "realities": tuple(REALITIES), "version": self._version}

    def _queue_command(self, command: Forward) -> None:
        if isinstance(command.body, RequestMessage) and command.body.what == "estop":
            self.commands.press_estop(command.client)
        self._inbox.put(command)
        self.run_in_executor(self._run_commands)

    def _queue_stop(self, cause: str, by: str) -> None:
        self._stops.put((cause, by))
        self.run_in_executor(self._log_stops)

    def _gait_saved(self, page: int) -> None:
        self._queue_command(Forward(page, RequestMessage("reload_gaits")))

    def _count_clients(self, count: int) -> None:
        self._new_client = self._new_client or count > self._client_count
        self._client_count = count
        self.run_in_executor(self._run_commands)

    def _state(self) -> Mapping[str, Any] | None:
        try:
            return self.feed.state()
        except Exception as error:
            self.failed("state", error)
            return None

    # --- in the executor ----------------------------------------------------------------------------------------

    def _run_commands(self) -> None:
        while (command := self._inbox.take()) is not None:
            execute = self._executions.get(type(command.body), self._command)
            execute(command)
        self.feed.watch(wanted=self._client_count > 0)
        if not self._client_count:
            self._status_timer.cancel()
        elif self._status_timer.is_canceled():
            self._status_timer.reset()
        if self._new_client:
            self._new_client = False
            self._send_status()
            if self.feed.said:
                self.server.send(0, "said", {"list": list(self.feed.said.values())})
            self.server.send(0, "log", {"events": self._log.events})
            self._send_terrain(0)
            self._recorder.watch(self._client_count)
            self._recorder.send_list(0)
            self._routes.greet()

    def _keep_settings(self, command: Any) -> None:
        if command.body.act in ("robot", "restore"):
            self._robot_file.execute(command.client, command.body)
        else:
            self._profiles.execute(command.body)

    def _dance(self, command: Any) -> None:
        self._overrule(command)
        self._dances.execute(command.body)

    def _route(self, command: Any) -> None:
        if command.body.act in ("walk", "navigate"):
            self._overrule(command)
        if command.body.act == "navigate":
            self._navigation.begin(command.body)
        else:
            self._routes.execute(command.body)

    def _command(self, command: Forward) -> None:
        if command.body == RequestMessage(RESTART):
            self._restart(command.client, self.feed.hung)
        elif command.body == RequestMessage(SHUTDOWN):
            if not self._shutdown.request(self.sessions.name(command.client)):
                self._refuse(command.client, "shutdown_refused")
        else:
            self._overrule(command)
            self.commands.execute(command)

    def _overrule(self, command: Forward) -> None:
        gone = command.client not in self.sessions.clients  # its connection broke while it drove
        by = "" if gone else self.sessions.name(command.client)
        self._routes.overrule(command.body, by)
        self._navigation.overrule(command.body, by)
        self._shutdown.overrule(command.body, self.sessions.name(command.client))

    def _restart(self, client: int, node: str) -> None:
        """Restarts a node; a healthy one that moves joints only while the robot is down."""
        stands = node in RESTARTABLE_NODES and node != self.feed.hung and self.feed.posture not in DOWN
        refusal = "restart_standing" if stands else self._processes.restart(node, silent=node == self.feed.hung)
        if refusal:
            return self._refuse(client, refusal, node=node)
        self._reply(client, "answer", {"what": RESTART, "ok": True, "text": ""})
        self._note(ReportLevel.WARNING, "log_restart", {"node": node})

    def _refuse(self, client: int, key: str, **values: str) -> None:
        """Tells a page the key of the text that says why not."""
        self._reply(client, "answer", {"what": key, "ok": False, "text": key, "values": values})

    def _answer(self, client: int, query: QueryMessage) -> None:
        if query.what in VIDEO:
            self.camera.request(client, query.what)
        elif query.what == "report":
            self._report.request(client)
        elif query.what == "kept":
            self._routes.send_list()
            self._dances.files.send_list()
            self._profiles.files.send_list()
        elif query.what == "map":
            self._routes.show_map(client)
        elif query.what == "updates":
            self.threads.run_outside(newer_version, lambda answer: self._reply(client, "updates", answer))
        elif query.what == "weeks":
            self._weeks.send_list(client)
        elif query.what == "terrain":
            self._send_terrain(client)
        elif query.what == "urdf":
            self.server.send(client, "urdf", {"text": self._urdf})
        else:
            urls = self.invitations()
            once = self.public and not self.settings.token
            rows = page_address.qr_rows(urls[0])
            self.server.send(client, "invitation", {"url": urls[0], "urls": urls, "rows": rows, "once": once})

    def _send_status(self) -> None:
        self.feed.evaluate_diagnostics()
        status = self._status()
        levels = {name: (each, each.shown_level) for name, each in self.feed.statuses.items()}
        self._send_events(self._log.take(time.time(), levels))
        self.server.send(0, "status", status)

    def _status(self) -> dict[str, Any]:
        """The fields of a `status` message."""
        present = {**self.feed.status(), "speed": self.commands.speed, "camera": self.camera.available}
        present |= {
            "nav2": self._navigation.available,
            "lesson": self._routes.lesson_length,
            "restartable": self._processes.restartable(),
            SHUTDOWN: self._shutdown.allowed,
        }
        return present | self._recorder.status()

    def _send_terrain(self, client: int) -> None:
        self.server.send(client, "terrain", {"boxes": self.feed.terrain})

    def _send_events(self, events: Iterable[LogEvent]) -> None:
        for event in events:
            self.server.send(0, "event", asdict(event))

    def _log_stops(self) -> None:
        while not self._stops.empty():
            cause, by = self._stops.get_nowait()
            if cause == "estop":
                self.feed.note_estop(by)
            self._note(STOP_LEVELS[cause], f"log_{cause}", {"by": by})

    def _note(self, level: int, key: str, values: Mapping[str, Any]) -> None:
        """Adds an event of this node to the log, by the key of its text."""
        self._send_events([self._log.add(time.time(), "web", level, key, values)])

    def _reply(self, client: int, kind: str, fields: Mapping[str, Any]) -> None:
        """Sends a reply to a page; a refusal is logged for all of them. Any thread may call this."""
        self.server.send(client, kind, fields)
        if not fields.get("ok", True):
            values = fields.get("values")  # of a key
            text = "log_refused" if values is None else fields["text"]
            values = {"what": fields["what"], "text": fields["text"]} if values is None else values
            event = partial(self._log.add, time.time(), "web", ReportLevel.WARNING, text, values)
            self.run_in_executor(lambda: self._send_events([event()]))

    def _refused(self, motion: str, reason: str) -> None:
        self._reply(0, "answer", {"what": motion, "ok": False, "text": reason})

    def every_second(self) -> None:
        """Ends service calls whose response is overdue, and reports that others try to occupy the page."""
        self.commands.watch()
        self.camera.watch()
        self._recorder.watch(self._client_count)
        self._routes.watch()
        self._shutdown.watch()
        self._report.watch()
        self._record_health(time.monotonic())
        self._report_port()
        new = self.server.displaced - self._displaced
        self._displaced = self.server.displaced
        if new:
            text = f"{self._displaced} connections without a valid token were closed to keep the page open; {REMEDY}"
            self.report("strangers", ReportLevel.WARNING, text, every=STRANGERS_PERIOD_S)

    def _record_health(self, now: float) -> None:
        if self._weeks.is_due(now):
            self.feed.evaluate_diagnostics()
            self._weeks.take(now, time.time(), None if self.feed.simulated else self.feed.health)

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {"pages": self._client_count, "driver": self.sessions.driver_name or "none", "port": self.server.port}

    def safe_stop(self, callback: str) -> None:
        """Sends a zero velocity."""
        self.commands.halt()

    def request_stop(self) -> None:
        """Sends a last zero, closes all connections and completes the recordings."""
        self.commands.end()
        self.server.close()
        self._laboratory.close()
        self.camera.close()
        self._recorder.close()

    def stopped(self) -> bool:
        """True once the recordings are complete."""
        return not self._recorder.busy

    def publish_final_state(self) -> None:
        """Sends a last zero, if a page was driving; completes the record of usage."""
        self.commands.end()
        self._weeks.close()


def _recordings_path(folder: str) -> Path:
    return Path(folder).expanduser().absolute() if folder else usage_folder() / "recordings"


def _token_authority(settings: WebSettings, public: bool) -> TokenAuthority:
    try:
        return TokenAuthority(settings.token, once=public)
    except ValueError as error:
        raise ParameterError(str(error)) from None


class SiblingProcesses:
    """The processes of the nodes beside this one, which the program that started them starts again when they end."""

    def __init__(self, namespace: str) -> None:
        """`namespace` is that of this node."""
        self._namespace = namespace.rstrip("/")
        self._restarted: dict[str, list[float]] = {}  # [s] steady times of the last RESTART_WINDOW_S by node

    def restartable(self) -> list[str]:
        """The short names of the nodes that can be restarted."""
        return sorted(self._found())

    def can_restart(self, node: str) -> bool:
        """True if the program that started this process would start a node again, given by its short name."""
        return node in self._found()

    def restart(self, node: str, *, silent: bool) -> str:
        """Ends the process of a node, empty if there is none. Returns the key of why not; empty if it was ended."""
        process = self._found().get(node)
        now = time.monotonic()
        if process is None:
            return "restart_impossible" if node else "restart_needless"
        recent = [then for then in self._restarted.get(node, ()) if now - then < RESTART_WINDOW_S]
        if len(recent) >= MAX_RESTARTS or (recent and now - recent[-1] < START_TIME_S):
            return "restart_again"
        self._restarted[node] = [*recent, now]
        with suppress(ProcessLookupError):
            # A stopped process takes no other signal, and the driver must not end as if it were asked to.
            os.kill(process, signal.SIGKILL if silent or node in RESTARTABLE_NODES else signal.SIGTERM)
        return ""

    def _found(self) -> dict[str, int]:
        if not started_graph():
            return {}
        running = [each for each in local_announcement.running(self._namespace) if each.graph == started_graph()]
        found = {each.node.rpartition("/")[2]: each.process for each in running if _is_sibling(each.process)}
        return {node: found[node] for node in found if node not in HARDWARE_NODES or node in RESTARTABLE_NODES}


def _is_sibling(process: int) -> bool:
    """Whether a process is another one and has the same parent, whatever has announced it."""
    with suppress(OSError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return process != os.getpid() and int(fields[1]) == os.getppid()
    return False


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(WebNode, args)


if __name__ == "__main__":
    sys.exit(main())
