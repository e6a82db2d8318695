"""The log of the page: what is kept, and that repetitions are counted."""

from hexapod_control.nodes.web.diagnostics_summary import STALE, NodeStatus
from hexapod_control.nodes.web.event_log import MAX_EVENTS, EventLog

WARM, FINE = NodeStatus(1, "a servo is warm: call arm", {}), NodeStatus(0, "ok", {})


def test_a_warning_is_logged_once_and_again_after_it_was_gone():
    log = EventLog()
    for at, status in enumerate([FINE, WARM, WARM, FINE, WARM]):
        log.take(at, {"servo_driver": (status, status.level)})
    assert [(event["at"], event["text"], event["count"]) for event in log.events] == [(4, "a servo is warm", 2)]


def test_silence_and_its_end_are_logged_with_the_node():
    log = EventLog()
    for at, level in enumerate([0, STALE, STALE, 0]):
        log.take(at, {"odometry": (FINE, level)})
    assert [(event["at"], event["level"], event["text"], event["values"]) for event in log.events] == [
        (1, STALE, "log_stale", {"node": "odometry"}),
        (3, 0, "log_back", {"node": "odometry"}),
    ]


def test_equal_events_in_a_row_are_counted_and_the_oldest_are_forgotten():
    log = EventLog()
    first = log.add(0.0, "web", 1, "log_link", {"by": "phone"})
    assert log.add(1.0, "web", 1, "log_link", {"by": "phone"}) is first
    assert (first.count, first.at) == (2, 1.0)
    for number in range(MAX_EVENTS):
        log.add(2.0, "web", 1, f"{number}")
    assert [event["text"] for event in log.events] == [f"{number}" for number in range(MAX_EVENTS)]
    assert [event["id"] - first.id for event in log.events] == list(range(1, MAX_EVENTS + 1))
