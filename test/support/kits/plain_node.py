# SPDX-License-Identifier: Apache-2.0
"""A node without middleware: it keeps what it publishes, calls and reports, and hands messages to its subscriptions.

Classes that only need a node to publish on and to subscribe with are tested on it at once, at times that the test sets.
"""

from contextlib import ExitStack
from copy import deepcopy
from types import SimpleNamespace

from rclpy.task import Future

from hexapod_control.ros import messages
from hexapod_control.ros.monitoring.graph_identity import Phase


class Moment:
    """Stands in for the module time; `now` [s] is the present time of all its clocks."""

    def __init__(self, now=1000.0):
        self.now = now

    def monotonic(self):
        return self.now

    time = perf_counter = monotonic

    def monotonic_ns(self):
        return round(1e9 * self.now)


class PlainTopic:
    """What is published on a topic."""

    def __init__(self):
        self.sent, self.listeners, self.waited = [], 1, []

    @property
    def is_received(self):
        return self.listeners > 0

    def get_subscription_count(self):
        return self.listeners

    def publish(self, message):
        self.sent.append(deepcopy(message))

    def wait_for_all_acked(self, duration):
        self.waited.append(1e-9 * duration.nanoseconds)


class PlainClient:
    """The calls of a service, as requests with their futures."""

    def __init__(self):
        self.ready, self.calls, self.dropped = True, [], []

    def service_is_ready(self):
        return self.ready

    def call_async(self, request):
        self.calls.append((request, Future()))
        return self.calls[-1][1]

    def remove_pending_request(self, future):
        self.dropped.append(future)


class PlainTimer:
    """A timer that the test runs."""

    def __init__(self, period, callback):
        self.period, self.callback, self.runs = period, callback, True

    def cancel(self):
        self.runs = False

    def reset(self):
        self.runs = True

    def is_canceled(self):
        return not self.runs


class PlainNode:
    """The methods of GuardedNode that the parts of a node use."""

    steady, control_time, simulated_time = "the steady clock", 0.0, False

    def __init__(self, name="node", moment=None):
        self._name, self.moment = name, moment or Moment()
        self.topics, self.callbacks, self.options, self.services = {}, {}, {}, {}
        self.service_clients, self.plain_timers, self.reports, self.publishers_of = {}, [], {}, {}
        self.clock_monitor = SimpleNamespace(cause=lambda question, now: question)
        self.duties, self.all_subscriptions, self.namespace, self.qos_suspects = [], [], "", set()
        self.phase, self.moves, self.reasons = Phase.DRIVING, False, []
        self.closing, self.subscribers_of = ExitStack(), {}
        self.threads = self  # work of other threads is done at once

    # --- for the test ---------------------------------------------------------------------------------------------

    def sent(self, topic):
        """The messages on a topic."""
        return self.topics[topic].sent

    def deliver(self, topic, message):
        """Hands a message to the subscription of a topic."""
        self.callbacks[topic](message)

    def call(self, service, request):
        """The response of a service."""
        return self.services[service](request, SimpleNamespace(success=None, message=None))

    def report_of(self, kind):
        """Level and text of the last report of a kind; None if there was none."""
        return self.reports.get(kind, [None])[-1]

    # --- for the classes that are tested -------------------------------------------------------------------------

    def create_publisher(self, kind, topic, qos):
        return self.topics.setdefault(topic, PlainTopic())

    def create_subscription(self, kind, topic, callback, qos, **options):
        self.callbacks[topic], self.options[topic] = callback, options
        made = SimpleNamespace(
            topic=topic, topic_name=topic, get_publisher_count=lambda: len(self.publishers_of.get(topic, ()))
        )
        self.all_subscriptions.append(made)
        return made

    def destroy_subscription(self, subscription):
        self.all_subscriptions.remove(subscription)
        del self.callbacks[subscription.topic]

    def create_service(self, kind, name, callback):
        self.services[name] = callback

    create_urgent_service = create_service

    def create_client(self, kind, name):
        self.service_clients[name] = PlainClient()
        return self.service_clients[name]

    def create_urgent_client(self, kind, name):
        return self.service_clients.setdefault(name, PlainClient())

    def create_timer(self, period, callback, clock=None):
        assert clock == self.steady
        self.plain_timers.append(PlainTimer(period, callback))
        return self.plain_timers[-1]

    def report(self, kind, level, text, every=5.0):
        self.reports.setdefault(kind, []).append((level, str(text)))

    def in_words(self, answer):
        return str(answer)

    def publish_status(self):
        pass

    def withdraw(self, kind):
        self.reports.pop(kind, None)

    def withdraw_errors(self):
        self.reports = {kind: told for kind, told in self.reports.items() if told[-1][0] != 2}

    def refused(self, topic, error):
        self.report(f"refused {topic}", None, str(error))

    def run_in_executor(self, callback):
        callback()

    def run_outside(self, work, then):
        then(work())

    def guarded_event(self, callback):
        return lambda event: callback()

    def get_name(self):
        return self._name

    def get_namespace(self):
        return self.namespace or "/"

    def get_fully_qualified_name(self):
        return f"{self.namespace}/{self._name}"

    def enter(self, phase, reason):
        self.phase = phase
        self.reasons.append(reason)

    def get_clock(self):
        return SimpleNamespace(now=lambda: self)

    @property
    def nanoseconds(self):
        return self.moment.monotonic_ns()

    def to_msg(self):
        return messages.time(self.nanoseconds)

    def get_publishers_info_by_topic(self, topic):
        return self.publishers_of.get(topic, [])

    def get_subscriptions_info_by_topic(self, topic):
        return self.subscribers_of.get(topic, [])

    def count_publishers(self, topic):
        return len(self.publishers_of.get(topic, []))
