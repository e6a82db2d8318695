# SPDX-License-Identifier: Apache-2.0
"""The log of the page: what is kept, and that repetitions are counted."""

from hexapod_control.nodes.web.diagnostics_summary import MAX_EVENTS, STALE, EventLog, NodeStatus

WARM, FINE = NodeStatus(1, "a servo is warm: run hexapod arm", {}), NodeStatus(0, "ok", {})


def test_a_warning_is_logged_once_and_again_after_it_was_gone():
    log = EventLog()
    found = [
        len(log.take(at, {"servo_driver": (status, status.level)}))
        for at, status in enumerate([FINE, WARM, WARM, FINE, WARM])
    ]
    assert found == [0, 1, 0, 0, 1]
    assert [(event["at"], event["text"], event["count"]) for event in log.events] == [
        (4, "a servo is warm: run hexapod arm", 2)
    ]


def test_silence_and_its_end_are_logged_with_the_node():
    log = EventLog()
    found = [log.take(at, {"odometry": (FINE, level)}) for at, level in enumerate([0, STALE, STALE, 0])]
    assert [[event.text for event in events] for events in found] == [[], ["log_stale"], [], ["log_back"]]
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


def test_a_long_text_is_shortened_and_values_make_another_event():
    log = EventLog()
    first = log.add(0.0, "web", 1, "x" * 300, {"by": "a"})
    assert first.text == "x" * 240 and (first.id, first.count, first.values) == (1, 1, {"by": "a"})
    assert log.add(1.0, "web", 1, "x" * 300, {"by": "b"}).id == 2
    assert log.add(2.0, "other", 1, "x" * 300, {"by": "b"}).id == 3
    assert log.add(3.0, "other", 2, "x" * 300, {"by": "b"}).id == 4
    assert log.add(4.0, "other", 2, "x" * 300).id == 5
    assert log.add(5.0, "other", 2, "x" * 241).count == 2


def test_an_event_of_each_node_is_logged_and_a_change_of_its_text_again():
    log, hot = EventLog(), NodeStatus(2, "it is hot", {})
    found = log.take(0.0, {"a": (WARM, 1), "b": (hot, 2), "c": (FINE, 0)})
    assert [(event.node, event.level) for event in found] == [("a", 1), ("b", 2)]
    assert [event.node for event in log.take(1.0, {"a": (hot, 2), "b": (hot, 2)})] == ["a"]
    assert log.take(2.0, {"a": (FINE, 0), "b": (FINE, 0)}) == []
