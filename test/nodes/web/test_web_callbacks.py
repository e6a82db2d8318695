# SPDX-License-Identifier: Apache-2.0
"""What the node web does with commands, clients and stops, with stand-ins for its server and its parts."""

import threading
from pathlib import Path
from urllib.parse import quote

import pytest
from support.kits.plain_node import Moment
from support.page_messages import TOKEN
from support.real_time.ros_bench import overrides

from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.nodes.odometry.stored_values import usage_folder
from hexapod_control.nodes.web import web
from hexapod_control.nodes.web.diagnostics_summary import NodeStatus
from hexapod_control.nodes.web.web import WebNode
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.web.page_address import ALL_ADDRESSES
from hexapod_control.web.protocol import GaitMessage, QueryMessage, RecordingMessage
from hexapod_control.web.sessions.client_sessions import Forward


class Part:
    """A stand-in that records its calls in a common list, with its name."""

    available, speed, busy, status_fields = True, 0.5, False, {}

    def __init__(self, name, notes):
        self._name, self._notes, self.terrain, self.statuses, self.on_terrain = name, notes, [[1.0]], {}, None

    def __getattr__(self, name):
        def call(*values, **options):
            self._notes.append((f"{self._name}.{name}", *values, *options.values()))
            return dict(self.status_fields)

        return call

    def status(self):
        return dict(self.status_fields)


class Server:
    """Stands in for the server: records what is sent, and calls back as its thread would."""

    error, port, downloads, displaced = None, 8771, "the downloads", 0

    def __init__(self, notes, sessions, policy, forward, watch, state, rate, certificate):
        self.notes, self.policy, self.forward, self.watch, self.state, self.rate = (
            notes,
            policy,
            forward,
            watch,
            state,
            rate,
        )
        self.sessions, self.sent = sessions, []

    def start(self, bind, port):
        self.notes.append(("server.start", bind, port))
        if self.error is not None:
            raise self.error

    def send(self, client, kind, fields):
        self.sent.append((client, kind, fields))

    def close(self):
        self.notes.append(("server.close",))


class Page:
    """The node and its parts."""

    def __init__(self, bench, monkeypatch, **parameters):
        self.notes, self.time = [], Moment()
        self.made = {}
        monkeypatch.setattr(web, "time", self.time)
        monkeypatch.setattr(WebNode, "run_in_executor", lambda node, callback: callback())
        monkeypatch.setattr(web, "PageServer", self._server)
        for name in ("RobotFeed", "CameraFeed", "PageCommands", "PageRecorder"):
            monkeypatch.setattr(web, name, self._maker(name))
        given = {"port": 8771, "token": TOKEN} | parameters
        self.node = bench.add(WebNode(parameter_overrides=overrides(**given)))
        self.feed, self.camera, self.commands, self.recorder = (
            self.made[name][0] for name in ("RobotFeed", "CameraFeed", "PageCommands", "PageRecorder")
        )
        self.feed.said = {}
        self.begun, self.notes[:] = list(self.notes), []

    def _server(self, *what):
        self.server = Server(self.notes, *what)
        return self.server

    def _maker(self, name):
        def make(*what):
            self.made[name] = Part(name, self.notes), what
            return self.made[name][0]

        return make

    def noted(self):
        """The calls of the parts since the last call of this function."""
        found, self.notes[:] = list(self.notes), []
        return found

    def sent(self):
        """What was sent since the last call."""
        found, self.server.sent = self.server.sent, []
        return found

    def report(self, kind):
        found = self.node.sent_reports.get(kind)
        return found and (found.level, found.text)


@pytest.fixture
def make(bench, monkeypatch):
    return lambda **parameters: Page(bench, monkeypatch, **parameters)


@pytest.fixture
def page(make):
    return make()


# --- the start ------------------------------------------------------------------------------------------------


def test_the_page_is_opened_where_it_is_wanted_and_its_parts_get_what_they_need(make, capsys):
    page = make(bind="127.0.0.5", port=8771, rate=20.0, recordings="~/bags", recordings_limit=20.0, robot="phantomx")
    assert page.begun == [("server.start", "127.0.0.5", 8771)] and page.server.rate == 20.0
    assert not page.node.public and not page.report("page")
    out = capsys.readouterr().out
    assert f"http://127.0.0.5:8771/#{quote(TOKEN)}" in out
    folder, downloads, files = page.made["PageRecorder"][1][1:4]
    assert folder.path == Path("~/bags").expanduser() and folder.free_bytes == 20_000_000
    assert (downloads, files) == ("the downloads", ("phantomx", ""))
    assert make(recordings="").made["PageRecorder"][1][1].path == usage_folder() / "recordings"


@pytest.mark.parametrize(("wanted", "reported"), [(8771, False), (0, False), (8770, True)])
def test_another_port_than_the_wanted_one_is_reported(make, wanted, reported):
    page = make(port=wanted)
    text = "port 8770 is in use by another program: the page is at port 8771"
    assert page.report("page") == ((ReportLevel.WARNING, text) if reported else None)


@pytest.mark.parametrize("error", [OSError(98, "Address already in use"), OSError("the web server did not start")])
def test_a_page_that_cannot_be_opened_is_an_error_that_diagnostics_show_again_and_again(
    make, monkeypatch, capsys, error
):
    monkeypatch.setattr(Server, "error", error)
    page = make()
    reason = error.strerror or str(error)
    level, text = page.report("page")
    assert level is ReportLevel.ERROR and "#" not in capsys.readouterr().out
    assert text.startswith(
        f"the page is absent: 127.0.0.1:8771 cannot be opened ({reason}); set bind to an address of "
    )
    before = page.node.sent_reports["page"]
    page.node.every_second()
    again = page.node.sent_reports["page"]
    assert again.when > before.when and again.logged == before.logged  # but not in the log


def test_on_a_network_an_invitation_is_for_one_client_and_the_next_one_is_printed(make, monkeypatch, capsys):
    page = make(lan=True, token="")
    assert page.begun == [("server.start", ALL_ADDRESSES, 8771)] and page.node.public
    token = capsys.readouterr().out.split("#")[1].split()[0]
    (first, *_), fresh = page.node.invitations(), capsys.readouterr().out
    assert token not in first and fresh == ""
    admit = page.server.sessions
    client = admit.connect("visitor", 0.0)
    admit.receive(client, f'{{"v": 2, "n": 1, "t": "hello", "token": "{token}"}}', 0.0)
    assert capsys.readouterr().out.count("#") >= 1
    page.server.forward(Forward(client, QueryMessage("invite")))
    ((to, kind, fields),) = page.sent()
    assert (to, kind, fields["once"]) == (client, "invitation", True) and fields["url"] == fields["urls"][0]
    assert len(fields["rows"]) > 20


def test_with_a_token_of_the_user_the_invitation_stays_the_same(page, capsys):
    client = page.server.sessions.connect("visitor", 0.0)
    page.server.sessions.receive(client, f'{{"v": 2, "n": 1, "t": "hello", "token": "{TOKEN}"}}', 0.0)
    capsys.readouterr()
    assert page.node.invitations() == page.node.invitations()
    page.server.forward(Forward(client, QueryMessage("invite")))
    assert page.sent()[-1][2]["once"] is False and capsys.readouterr().out == ""


# --- commands and clients -------------------------------------------------------------------------------------


def test_commands_go_to_the_part_that_executes_them(page):
    gait, record = Forward(2, GaitMessage("wave")), RecordingMessage("start", "a")
    page.server.forward(gait)
    page.server.forward(Forward(3, record))
    page.server.forward(Forward(4, QueryMessage("camera")))
    asked = [note for note in page.noted() if note[0] != "RobotFeed.watch"]
    assert asked == [
        ("PageCommands.execute", gait),
        ("PageRecorder.execute", 3, record),
        ("CameraFeed.request", 4, "camera"),
    ]
    page.server.forward(Forward(5, QueryMessage("terrain")))
    page.server.forward(Forward(6, QueryMessage("urdf")))
    terrain, urdf = page.sent()
    assert terrain == (5, "terrain", {"boxes": [[1.0]]}) and urdf[:2] == (6, "urdf")
    assert "<robot" in urdf[2]["text"]


def test_a_new_client_gets_status_log_terrain_and_recordings(page):
    page.server.watch(1)
    assert [(to, kind) for to, kind, _ in page.sent()] == [(0, "status"), (0, "log"), (0, "terrain")]
    notes = page.noted()
    assert ("RobotFeed.watch", True) in notes and ("PageRecorder.watch", 1) in notes
    assert ("PageRecorder.send_list", 0) in notes
    page.server.watch(1)
    page.server.forward(Forward(1, GaitMessage("wave")))
    assert page.sent() == []
    page.server.watch(2)
    assert len(page.sent()) == 3
    page.server.watch(1)
    page.server.watch(0)
    assert page.sent() == [] and page.noted()[-1] == ("RobotFeed.watch", False)


def test_the_status_is_sent_twice_a_second_while_there_is_a_client(page):
    idle = [timer for timer in page.node.timers if timer.is_canceled()]
    page.server.watch(1)
    (timer,) = [timer for timer in idle if not timer.is_canceled()]
    assert timer.timer_period_ns == 500_000_000
    for count, runs in ((2, True), (0, False), (1, True)):
        page.server.watch(count)
        assert timer.is_canceled() is not runs


def test_the_status_has_the_fields_of_all_parts_and_changes_of_nodes_are_events(page):
    page.feed.status_fields, page.recorder.status_fields = {"torque": True}, {"buffered": 7}
    page.feed.statuses = {"servo_driver": NodeStatus(2, "hot", {}), "old": NodeStatus(0, "ok", {}, 100.0)}
    page.commands.speed, page.camera.available = 0.25, False
    page.server.watch(1)
    events = [fields for _, kind, fields in page.server.sent if kind == "event"]
    (status,) = [fields for to, kind, fields in page.server.sent if (to, kind) == (0, "status")]
    own = {"speed": 0.25, "camera": False, "nav2": False, "lesson": None, "restartable": [], "shutdown": False}
    assert status == {"torque": True, "buffered": 7, **own}
    assert [(event["node"], event["level"], event["text"]) for event in events] == [
        ("servo_driver", 2, "hot"),
        ("old", 3, "log_stale"),
    ]
    assert {event["at"] for event in events} == {page.time.now}


@pytest.mark.parametrize(("what", "level"), [("stop", 0), ("link", 1), ("silence", 1), ("estop", 2)])
def test_a_stop_is_an_event_with_its_level_and_an_emergency_stop_is_noted_by_the_feed(make, monkeypatch, what, level):
    sessions = []
    monkeypatch.setattr(web, "ClientSessions", lambda *hooks: sessions.append(hooks))
    page = make()
    admit, greet, stop = sessions[0]
    stop(what, "Ada")
    ((to, kind, event),) = page.sent()
    assert (to, kind) == (0, "event")
    assert (event["node"], event["level"], event["text"], event["values"]) == (
        "web",
        level,
        f"log_{what}",
        {"by": "Ada"},
    )
    assert page.noted() == ([("RobotFeed.note_estop", "Ada")] if what == "estop" else [])
    assert greet()["worlds"] == WORLDS and greet()["realities"][0] == "ideal" and greet()["shape"]["name"] == "phantomx"
    assert admit(TOKEN, "", "visitor", 0.0)


def test_a_refusal_goes_to_its_page_and_into_the_log_of_all(page):
    reply = page.made["PageCommands"][1][2]
    reply(3, "answer", {"what": "sit", "ok": True, "text": "done"})
    reply(3, "download", {"what": "bag"})
    assert [kind for _, kind, _ in page.sent()] == ["answer", "download"]
    reply(3, "answer", {"what": "sit", "ok": False, "text": "no pose"})
    (answer, event) = page.sent()
    assert answer[0] == 3 and event[:2] == (0, "event")
    assert (event[2]["level"], event[2]["text"]) == (1, "log_refused")
    assert event[2]["values"] == {"what": "sit", "text": "no pose"}
    refused = page.made["RobotFeed"][1][3]
    refused("bow", "too far")
    answer, event = page.sent()
    assert answer == (0, "answer", {"what": "bow", "ok": False, "text": "too far"})
    assert event[2]["values"] == {"what": "bow", "text": "too far"}


def test_new_terrain_goes_to_all_pages(page):
    page.feed.on_terrain()
    assert page.sent() == [(0, "terrain", {"boxes": [[1.0]]})]


def test_a_state_that_cannot_be_computed_is_reported_and_none(page, monkeypatch):
    monkeypatch.setattr(page.feed, "state", lambda: {"now": 1}, raising=False)
    assert page.server.state() == {"now": 1}
    monkeypatch.setattr(page.feed, "state", lambda: 1 / 0)
    assert page.server.state() is None
    assert "callback state failed with ZeroDivisionError" in page.node.last_report("failed state")


def test_overdue_calls_images_and_recordings_are_ended_every_second(page):
    page.server.watch(2)
    read = threading.Event()  # the usage so far, by the thread for files
    page.node.threads.run_outside(lambda: None, lambda _: read.set())
    assert read.wait(5.0)
    page.noted()
    page.node.every_second()
    watched = [("PageCommands.watch",), ("CameraFeed.watch",), ("PageRecorder.watch", 2)]
    assert page.noted() == [*watched, ("RobotFeed.evaluate_diagnostics",)]  # that for the usage by weeks
    page.node.every_second()
    assert page.noted() == watched
    assert page.node.status() == {"pages": 2, "driver": "none", "port": 8771}


def test_displaced_strangers_are_counted_in_one_line_per_minute(page):
    page.node.every_second()
    assert not page.report("strangers")
    for count in (300, 900):
        page.server.displaced = count
        page.node.every_second()
    level, text = page.report("strangers")
    assert level == 1 and text.startswith("900 connections without a valid token were closed to keep the page open; ")


def test_a_failure_halts_and_the_end_sends_a_zero_closes_the_page_and_completes_recordings(page):
    page.node.safe_stop("tick")
    assert page.noted() == [("PageCommands.halt",)]
    page.node.request_stop()
    assert page.noted() == [
        (each,) for each in ("PageCommands.end", "server.close", "CameraFeed.close", "PageRecorder.close")
    ]
    for busy in (True, False):
        page.recorder.busy = busy
        assert page.node.stopped() is not busy
    page.node.publish_final_state()
    assert page.noted() == [("PageCommands.end",)]


def test_the_names_under_which_the_page_may_be_opened_are_those_of_the_address_and_the_allowed_ones(make, monkeypatch):
    policies = []
    monkeypatch.setattr(web, "HostPolicy", lambda hosts, literal: policies.append((hosts, literal)))
    make(allowed_hosts="robot.example, other.example ")
    make(lan=True)
    (hosts, literal), (_, public) = policies
    assert {"robot.example", "other.example", "127.0.0.1"} <= set(hosts) and literal is False and public is True
