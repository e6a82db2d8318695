# SPDX-License-Identifier: Apache-2.0
"""Base class of all nodes: guarded callbacks, diagnostics, supervision of /clock, messages within the process.

An exception in a callback would end rclpy's spin loop, and with it the control of the robot. Here it is reported in one
line, the node performs its safe stop, and later callbacks run as usual.

Beside its executor a node has a thread for urgent services, which nothing may delay, and one for files.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from enum import IntEnum
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from hexapod_control.core.names import shortened
from hexapod_control.core.refusal import Statement
from hexapod_control.ros import messages
from hexapod_control.ros.monitoring.clock_monitor import ClockMonitor
from hexapod_control.ros.monitoring.graph_identity import Phase
from hexapod_control.ros.monitoring.qos_monitor import QosMonitor
from hexapod_control.ros.parameters import CHANGES, accept_dumps, declare, refusal, undeclared
from hexapod_control.ros.qos import EVENTS
from hexapod_control.ros.qos_overrides import PUBLISHER, SUBSCRIPTION, overridden
from hexapod_control.ros.row_messages import MessageError
from hexapod_control.ros.service_introspection import IntrospectionSettings
from hexapod_control.ros.service_introspection import configure as introspect
from hexapod_control.ros.transport.handover import Handover, LocalSubscription
from hexapod_control.ros.transport.polling import FOREIGN_POLL_PERIOD_S, POLL_PERIOD_S, PollingNode
from hexapod_control.ros.transport.senders import LOCAL
from hexapod_control.ros.transport.topic_publisher import TopicPublisher
from hexapod_control.ros.writer_thread import WriterThread

SAID = "said"  # key of /diagnostics: kind, text and values of the statements that the node has made, as JSON
THROTTLE_S = 5.0  # between two log lines of the same kind; a report counts as recent for this long
MAX_REPORT_LENGTH = 1500  # characters
__all__ = ["SAID", "THROTTLE_S", "GuardedNode", "ReportLevel", "SentReport"]

CLOCK = "/clock"
HOUSEKEEPING_PERIOD_S = 0.5
DISCOVERY_TIME_S = 2.0  # for the discovery of other nodes; what is missing later is reported
AUDIBLE = ("/diagnostics", "/parameter_events", "/rosout", "robot_nodes")  # topics of a silent node
FOLLOWED = ("foot_targets", "joint_motion", "joint_targets", "joint_states")  # topics that a silent node ignores
STOP_TIMEOUT_S = 1.0  # of the thread for urgent services
MAX_WAITING_JOBS = 100  # of the thread for files

Result = TypeVar("Result")


class ReportLevel(IntEnum):
    """Severity of a report; the numbers are those of DiagnosticStatus."""

    OK = 0
    WARNING = 1
    ERROR = 2


class SentReport(NamedTuple):
    """The newest report of one kind."""

    level: ReportLevel
    text: str
    when: float  # [s] steady time of the last call of `report`
    logged: float  # [s] steady time at which it was last written to the log
    said: Statement | None = None  # of which it is the text


class ReportingNode(PollingNode):
    """A node with throttled reports to its user."""

    def __init__(self, name: str, **options: Any) -> None:
        """`options` are those of rclpy's Node."""
        self._sent_reports: dict[str, SentReport] = {}
        super().__init__(name, **options)

    def report(self, kind: str, level: ReportLevel, said: str | Statement, every: float = THROTTLE_S) -> None:
        """Logs a text, each kind at most once per `every` [s]; /diagnostics shows it for THROTTLE_S."""
        now = time.monotonic()
        text = shortened(str(said), MAX_REPORT_LENGTH)
        last = self._sent_reports.get(kind)
        logged = last.logged if last is not None and now - last.logged < every else now
        if logged == now:
            # rclpy stores one level per calling line, so each level needs its own line.
            if level is ReportLevel.ERROR:
                self.get_logger().error(text)
            elif level is ReportLevel.WARNING:
                self.get_logger().warning(text)
            else:
                self.get_logger().info(text)
        statement = said if isinstance(said, Statement) else None
        self._sent_reports[kind] = SentReport(level, text, now, logged, statement)

    def withdraw(self, kind: str) -> None:
        """Ends a report whose reason is gone: /diagnostics shows it no longer."""
        self._sent_reports.pop(kind, None)

    def withdraw_errors(self) -> None:
        """Ends the reports of all errors."""
        self._sent_reports = {kind: last for kind, last in self._sent_reports.items() if last.level < ReportLevel.ERROR}

    def recent_reports(self) -> list[str]:
        """Returns the texts of the warnings and errors of the last THROTTLE_S, most serious first."""
        return [sent.text for sent in self._recent_reports()]

    def _recent_reports(self) -> list[SentReport]:
        now = time.monotonic()
        sent = self._sent_reports.values()
        recent = [s for s in sent if s.level >= ReportLevel.WARNING and now - s.when <= THROTTLE_S]
        return sorted(recent, key=lambda s: (-s.level, -s.when))

    @property
    def sent_reports(self) -> Mapping[str, SentReport]:
        """The last report of each kind."""
        return MappingProxyType(self._sent_reports)

    def last_report(self, kind: str) -> str:
        """Returns the text of the last report of a kind; empty if there was none."""
        return self._sent_reports[kind].text if kind in self._sent_reports else ""


class GuardedNode(ReportingNode):
    """A node whose callbacks cannot end the program: every exception is caught and reported.

    Life cycle: `__init__` declares parameters and creates the subscriptions; callbacks run until the process is to end;
    then `request_stop` is called once, callbacks continue until `stopped`; `publish_final_state` is called last.
    """

    def __init__(self, name: str, handover: Handover | None = None, **options: Any) -> None:
        """`handover` delivers messages within a process with several nodes; `options` are those of rclpy's Node."""
        self._handover = handover
        self._local: dict[Any, LocalSubscription] = {}  # by subscription
        self.partners: tuple[GuardedNode, ...] = ()  # nodes of this process that also stop when a callback fails here
        self.phase = Phase.DRIVING  # changed by `enter` only
        self.closing = ExitStack()  # closed first by destroy_node, also for nodes that could not start
        self.duties: list[Callable[[], None]] = []  # called every HOUSEKEEPING_PERIOD_S
        self._introspection = IntrospectionSettings()
        self._qos = QosMonitor(
            self, self.guarded_event, lambda kind, text: self.report(kind, ReportLevel.WARNING, text)
        )
        self.clock_monitor = ClockMonitor(
            time.monotonic(), lambda text: self.report("clock", ReportLevel.ERROR, text), self.clock_stopped
        )
        super().__init__(name, poll_period=POLL_PERIOD_S if handover is None else FOREIGN_POLL_PERIOD_S, **options)
        self._words = options.get("cli_args") or sys.argv  # of its command line
        self.threads = NodeThreads(self, self.run_in_executor, self.failed)
        self.closing.callback(self.threads.close)
        self.steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.started = time.monotonic()
        self.received: Counter[str] = Counter()  # received messages by topic, including refused ones
        self.housekeeping_runs = 0
        self._answers: list[Statement] = []  # since the last status
        self._introspect(declare(self, IntrospectionSettings, self._introspect))
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", EVENTS)
        self.create_timer(HOUSEKEEPING_PERIOD_S, self._housekeeping, clock=self.steady)

    # --- hooks that a node overrides ----------------------------------------------------------------------

    def safe_stop(self, callback: str) -> None:
        """Brings the robot to a safe stop; called after an exception in `callback`."""

    def clock_stopped(self) -> None:
        """Called once when /clock has stopped although the simulation is not paused."""

    def status(self) -> Mapping[str, object]:
        """Returns the values for /diagnostics; called once per second."""
        return {}

    @property
    def hardware_id(self) -> str:
        """What /diagnostics reports on: the robot, by its namespace, or else by the name of its computer."""
        return self.get_namespace().strip("/") or socket.gethostname()

    def every_second(self) -> None:
        """Called once per second of steady time."""

    def request_stop(self) -> None:
        """Called once when the process is to end; callbacks continue until `stopped`."""

    def stopped(self) -> bool:
        """Returns True when the process may end."""
        return True

    def publish_final_state(self) -> None:
        """Publishes the last messages of the node; called once, before the process ends."""

    @property
    def qos_suspects(self) -> Collection[str]:
        """Topics with a publisher or subscriber of another QoS, as the middleware has reported."""
        return self._qos.suspects

    @property
    def moves(self) -> bool:
        """Whether the robot moves as this node plans."""
        return False

    def destroy_node(self) -> None:
        """Calls the functions in `closing`, then destroys the node."""
        self.closing.close()
        super().destroy_node()

    def enter(self, phase: Phase, reason: str) -> None:
        """Changes what the node does for its robot; `reason`: why it makes way for another graph, or drives again.

        A silent node publishes its latched states as soon as it is no longer silent.
        """
        self.phase = phase
        if phase is not Phase.SILENT:
            for publisher in self.publishers:
                if isinstance(publisher, TopicPublisher):
                    publisher.publish_withheld()

    def refused(self, topic: str, error: MessageError) -> None:
        """Reports a message that cannot be used."""
        self.report(f"refused {topic}", ReportLevel.WARNING, f"{topic} refused: {error}")

    def failed(self, callback: str, error: Exception) -> None:
        """Reports an exception in a callback and calls `safe_stop`."""
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        location = f" ({where.tb_frame.f_code.co_filename}:{where.tb_lineno})" if where else ""
        name = self.get_fully_qualified_name()
        kind = type(error).__name__
        text = f"{name}: callback {callback} failed with {kind}: {error}{location}; stopping safely; please report this"
        self.report(f"failed {callback}", ReportLevel.ERROR, text)
        for partner in self.partners:
            partner.run_in_executor(partial(partner.safe_stop, f"{callback} of {self.get_name()}"))
        try:
            self.safe_stop(callback)
        except Exception as second:
            self.report("failed safe_stop", ReportLevel.ERROR, f"{self.get_name()}: the safe stop failed too: {second}")

    # --- guarded callbacks -------------------------------------------------------------------------------------------

    def _qos_of(self, entity: str, topic: str, profile: Any) -> Any:
        """The profile of a topic with the overrides of the user; rclpy knows them once a node is half constructed."""
        return overridden(self, getattr(self, "_parameter_overrides", {}), entity, topic, profile)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, *args: Any, **options: Any
    ) -> Any:
        """As in rclpy, guarded. A message that is too large, or whose callback raises MessageError, is refused.

        Subscriptions are raw: a message that is too large is refused before it is decoded. While `needed` (a function
        without arguments) returns False, messages are dropped. `decode` replaces the usual decoder. `admit` gets the
        GID of a message's publisher, LOCAL within the process; messages for which it returns False are dropped.
        """
        name = _name(callback)
        if topic == CLOCK:
            callback = self.clock_monitor.wrap_callback(callback, time.monotonic)
        options.setdefault("event_callbacks", self._qos.of_subscription(topic))
        decode = options.pop("decode", None) or _decoder(msg_type, raw=bool(options.get("raw")))
        needed, admit = options.pop("needed", None), options.pop("admit", None)

        def take(content: Any, convert: Callable[[Any], Any] | None = None, sender: bytes | None = LOCAL) -> None:
            self.received[topic] += 1
            ignored = topic in FOLLOWED and self.phase is Phase.SILENT
            if ignored or (needed is not None and not needed()):
                return
            try:
                if admit is None or sender is None or admit(sender):
                    callback(content if convert is None else convert(content))
            except MessageError as error:
                self.refused(topic, error)
            except Exception as error:
                self.failed(name, error)

        local = LocalSubscription(msg_type, take, raw=bool(options.get("raw")))

        def receive(data: bytes, sender: bytes | None = None) -> None:
            if not local.returned(data):
                take(data, decode, sender)

        if admit is not None:
            options["with_sender"] = True
        if self._handover is not None:  # most messages do not come through the middleware
            options["polled"] = False
        qos = self._qos_of(SUBSCRIPTION, topic, qos_profile)
        subscription = super().create_subscription(msg_type, topic, receive, qos, *args, **{**options, "raw": True})
        if self._handover is not None:
            self._handover.add(subscription.topic_name, local, subscription.qos_profile)
            self._local[subscription] = local
        return subscription

    def destroy_subscription(self, subscription: Any) -> bool:
        """As in rclpy."""
        if self._handover is not None and subscription in self._local:
            self._handover.remove(subscription.topic_name, self._local.pop(subscription))
        return bool(super().destroy_subscription(subscription))

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, *args: Any, **options: Any) -> Any:
        """As in rclpy; returns a TopicPublisher, and subscribers with incompatible QoS are reported."""
        options.setdefault("event_callbacks", self._qos.of_publisher(topic))
        publisher_class: Any = partial(
            TopicPublisher, silent=lambda: self.phase is Phase.SILENT and topic not in AUDIBLE, handover=self._handover
        )
        qos = self._qos_of(PUBLISHER, topic, qos_profile)
        return super().create_publisher(msg_type, topic, qos, *args, publisher_class=publisher_class, **options)

    def create_timer(self, timer_period_sec: float, callback: Any, *args: Any, **options: Any) -> Any:
        """As in rclpy, guarded."""
        name = _name(callback)

        def guarded() -> None:
            try:
                callback()
            except Exception as error:
                self.failed(name, error)

        return super().create_timer(timer_period_sec, guarded, *args, **options)

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, **options: Any) -> Any:
        """As in rclpy, guarded. After an exception the response is `success: false`, if it has that field."""
        name = _name(callback)
        if srv_type in CHANGES:
            callback = accept_dumps(self, callback)

        def guarded(request: Any, response: Any) -> Any:
            if (excess := messages.excess(request)) != "":
                self.refused(srv_name, MessageError(excess))
                return refusal(response, excess)
            try:
                response = callback(request, response)
                self.catch_up()
                return response
            except Exception as error:
                self.failed(name, error)
                if hasattr(response, "success"):
                    response.success = False
                    response.message = f"{name} failed: {error}"
                return response

        service = super().create_service(srv_type, srv_name, guarded, **options)
        if self._introspection != IntrospectionSettings():
            introspect(service, self.get_clock(), self._introspection)
        return service

    def catch_up(self) -> None:
        """Makes the other nodes of a graph that is not driving hear at once of a request that may move the robot."""
        if self.phase is not Phase.DRIVING:
            for duty in self.duties:
                duty()

    def _introspect(self, settings: IntrospectionSettings) -> None:
        changed = settings != self._introspection
        self._introspection = settings
        for service in self.services if changed else ():
            introspect(service, self.get_clock(), settings)

    def run_in_executor(self, callback: Callable[[], None]) -> None:
        """Runs a guarded callback in the executor that spins this node, if there is one. Thread-safe."""
        executor = self.executor  # read once: another thread may clear it
        if executor is not None:
            executor.create_task(self.guarded_event(callback), None)

    def guarded_event(self, callback: Callable[[], None]) -> Callable[[Any], None]:
        """Returns a guarded callback for a middleware event or a future, whose argument is ignored."""

        def guarded(event: Any) -> None:
            try:
                callback()
            except Exception as error:
                self.failed(_name(callback), error)

        return guarded

    # --- housekeeping ---------------------------------------------------------------------------------------

    @property
    def simulated_time(self) -> bool:
        """True if the node runs on /clock."""
        return bool(self.get_parameter("use_sim_time").value)

    @cached_property
    def control_clock(self) -> Clock:
        """Clock of control timers: /clock in simulated time, else the steady clock, which never jumps."""
        return self.get_clock() if self.simulated_time else self.steady

    @property
    def control_time(self) -> float:
        """Time [s] of the control clock."""
        if self.control_clock is self.steady:
            return time.monotonic()
        return float(self.control_clock.now().nanoseconds) / messages.NANOSECONDS

    def _housekeeping(self) -> None:
        self.housekeeping_runs += 1
        if self.housekeeping_runs == 1:
            for text in undeclared(self, self._words):
                self.report(text, ReportLevel.WARNING, text, every=math.inf)
        if self.simulated_time and self.phase is not Phase.SILENT:  # its simulator may be silent, too
            self.clock_monitor.check(time.monotonic())
        for duty in self.duties:
            duty()
        if self.housekeeping_runs % 2 == 0:
            self._qos.check()
            self.every_second()
            self.publish_status()

    def report(self, kind: str, level: ReportLevel, said: str | Statement, every: float = THROTTLE_S) -> None:
        """As without guard; a warning or an error that begins is in /diagnostics at once."""
        last = self._sent_reports.get(kind)
        super().report(kind, level, said, every)
        begins = last is None or last.level < level or time.monotonic() - last.when > THROTTLE_S
        if begins and level > ReportLevel.OK:
            self.run_in_executor(self.publish_status)

    def publish_status(self) -> None:
        """Publishes what /diagnostics shows of this node; called once per second, and when it changes."""
        worst = max(
            (s.level for s in self._sent_reports.values() if time.monotonic() - s.when <= THROTTLE_S),
            default=ReportLevel.OK,
        )
        shown = next(iter(self._recent_reports()), None)
        told = [said.as_json() for said in (*self._answers, shown.said if shown else None) if said is not None]
        values = {**self.status(), SAID: json.dumps(told)} if told else self.status()
        self._answers.clear()
        name = self.get_fully_qualified_name()
        stamp = self.get_clock().now().to_msg()
        text = shown.text if shown else "ok"
        self._diagnostics.publish(messages.diagnostics(name, self.hardware_id, worst, text, values, stamp))

    def in_words(self, answer: Statement) -> str:
        """The text of an answer; kind and values are published before it, for pages in other languages."""
        self._answers.append(answer)
        self.publish_status()
        return str(answer)


def _name(callback: Any) -> str:
    return str(getattr(callback, "__name__", callback)).lstrip("_")


def _decoder(kind: Any, *, raw: bool) -> Callable[[bytes], Any] | None:
    return None if raw else messages.decoder(kind)


class NodeThreads:
    """Starts each thread when it is first used."""

    def __init__(
        self,
        node: Node,
        run_in_executor: Callable[[Callable[[], None]], None],
        failed: Callable[[str, Exception], None],
    ) -> None:
        """`failed` reports an exception in a callback, by its name, in the executor of the node."""
        self._node = node
        self._run_in_executor = run_in_executor
        self._failed = failed
        self._urgent: _UrgentNode | None = None

    def create_urgent_service(self, srv_type: Any, name: str, callback: Any) -> None:
        """Creates a service that is served whatever the executor waits for, also while the node is silent.

        After an exception the response is `success: false`.
        """

        def guarded(request: Any, response: Any) -> Any:
            try:
                return callback(request, response)
            except Exception as error:
                self._run_in_executor(partial(self._failed, name, error))
                response.success = False
                response.message = f"{name} failed: {error}"
                return response

        self._urgent_node().create_service(srv_type, self._node.resolve_service_name(name), guarded)

    @property
    def urgent_services(self) -> Sequence[Any]:
        """The services that were created as urgent ones."""
        return [] if self._urgent is None else list(self._urgent.services)

    def create_urgent_client(self, srv_type: Any, name: str) -> Any:
        """Creates a client whose responses are handled in the thread of urgent services. Any thread may call it."""
        return self._urgent_node().create_client(srv_type, self._node.resolve_service_name(name))

    def run_outside(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Runs `work` in the thread for files, which may block, and then `then` with its result in the executor."""

        def job() -> None:
            try:
                result = work()
            except Exception as error:
                self._run_in_executor(partial(self._failed, "files", error))
            else:
                self._run_in_executor(lambda: then(result))

        self._files.put(job)

    def close(self) -> None:
        """Ends the thread of urgent services; that for files ends with the process."""
        if self._urgent is not None:
            self._urgent.close()

    @cached_property
    def _files(self) -> WriterThread:
        return WriterThread("files", MAX_WAITING_JOBS)

    def _urgent_node(self) -> _UrgentNode:
        if self._urgent is None:
            self._urgent = _UrgentNode(self._node)
        return self._urgent


class _UrgentNode(Node):
    """A second node in the namespace of the first one, spun by a thread of its own. Its names are absolute."""

    def __init__(self, owner: Node) -> None:
        super().__init__(
            f"{owner.get_name()}_urgent",
            context=owner.context,
            namespace=owner.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter("start_type_description_service", value=False)],
        )
        self._spinner = SingleThreadedExecutor(context=owner.context)
        self._spinner.add_node(self)
        self._thread = threading.Thread(target=self._spin, name="urgent", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._spinner.shutdown(timeout_sec=STOP_TIMEOUT_S)
        self._thread.join(STOP_TIMEOUT_S)
        self.destroy_node()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._spinner.spin()
