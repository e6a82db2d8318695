# SPDX-License-Identifier: Apache-2.0
"""Usage and health by weeks: nothing is lost or counted twice, and the record does not grow without bound."""

import pytest
from support.kits.plain_node import PlainNode

from hexapod_control.nodes.web.diagnostics_summary import Health
from hexapod_control.nodes.web.weekly_record import (
    LOOK_PERIOD_S,
    MAX_FAULTS,
    MAX_WEEKS,
    OTHERS,
    WRITE_PERIOD_S,
    KeptWeeks,
    WeeklyRecord,
)

JOINTS = ("LF_coxa_joint", "LF_femur_joint")
WEEK_S = 7 * 86400.0
MONDAY = 1_767_571_200.0  # 2026-01-05 00:00 UTC, the first day of week 2


def health(hours=1.0, distance=10.0, cycles="5 7", temperatures=None, **faults):
    usage = {"hours on": f"{hours:.2f}", "hours walking": "0.50", "distance [m]": f"{distance}", "cycles": cycles}
    return Health(usage, JOINTS, temperatures or {}, faults)


def test_each_week_has_what_was_added_in_it_also_after_a_restart_and_when_counts_begin_again():
    record = WeeklyRecord()
    record.take(MONDAY, health(100.0, 1000.0, "50 70"))
    record.take(MONDAY + 60.0, health(100.5, 1012.0, "51 70"))
    record = WeeklyRecord(record.text)
    record.take(MONDAY + WEEK_S, health(101.5, 1020.0, "51 75"))
    record.take(MONDAY + WEEK_S + 60.0, health(0.25, 3.0, "2 0"))
    new, old = record.weeks
    assert (old["week"], old["on"], old["distance"], old["cycles"]) == ("2026-W02", 0.5, 12.0, {JOINTS[0]: 1.0})
    assert (new["week"], new["on"], new["distance"]) == ("2026-W03", 1.25, 11.0)
    assert new["cycles"] == {JOINTS[0]: 2.0, JOINTS[1]: 5.0}


def test_the_highest_temperature_of_each_joint_is_kept_and_faults_are_counted_when_they_begin():
    record = WeeklyRecord()
    for degrees, faults in (
        (40.0, {}),
        (61.0, {"servo_driver": "LF tibia 71 degC"}),
        (50.0, {"servo_driver": "LF tibia 72 degC"}),
        (45.0, {}),
        (45.0, {"servo_driver": "LF tibia 75 degC"}),
    ):
        record.take(MONDAY, health(temperatures={JOINTS[0]: degrees, "battery": 99.0}, **faults))
    (week,) = record.weeks
    assert week["hottest"] == {JOINTS[0]: 61.0}
    assert week["faults"] == {f"servo_driver: LF tibia {OTHERS} degC": 2.0}


def test_the_record_is_bounded_in_weeks_and_in_kinds_of_faults():
    record = WeeklyRecord()
    for week in range(MAX_WEEKS + 20):
        for kind in range(3 * MAX_FAULTS):
            record.take(MONDAY + week * WEEK_S, health(node="x" * kind))
    assert len(record.weeks) == MAX_WEEKS and record.weeks[0]["week"] == "2027-W21"
    assert all(len(week["faults"]) <= MAX_FAULTS + 1 for week in record.weeks)
    assert sum(record.weeks[0]["faults"].values()) == 3 * MAX_FAULTS
    assert WeeklyRecord(record.text).weeks == record.weeks


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"totals": {}, "weeks": [{}]}', '{"totals": {"a": "nan"}, "weeks": []}']
)
def test_a_damaged_file_counts_as_none(text):
    record = WeeklyRecord(text)
    record.take(MONDAY, health())
    assert [week["on"] for week in record.weeks] == [0.0]


def test_without_odometry_nothing_is_counted():
    record = WeeklyRecord()
    record.take(MONDAY, Health({}, JOINTS, {}, {"node": "fault"}))
    assert record.weeks == []


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "hexapod_control"


def kept(sent, node=None):
    return KeptWeeks(node or PlainNode(), "/phantomx", lambda *message: sent.append(message))


def test_the_file_of_a_robot_is_written_once_a_minute_and_at_the_end_and_read_at_the_start(home):
    sent = []
    weeks = kept(sent)
    assert weeks.is_due(0.0)
    weeks.take(0.0, MONDAY, health(1.0))
    assert not weeks.is_due(LOOK_PERIOD_S / 2) and not list(home.glob("*"))
    weeks.take(WRITE_PERIOD_S, MONDAY + 60.0, health(2.0))
    (path,) = home.iterdir()
    assert WeeklyRecord(path.read_text()).weeks[0]["on"] == 1.0
    weeks.take(WRITE_PERIOD_S + LOOK_PERIOD_S, MONDAY + 60.0, health(2.5))
    weeks.close()
    kept(sent).send_list(3)
    to, kind, fields = sent[-1]
    assert (to, kind, fields["list"][0]["on"]) == (3, "weeks", 1.5)


def test_a_simulated_robot_has_no_record(home):
    weeks = kept([])
    weeks.take(0.0, MONDAY, None)
    weeks.close()
    assert not home.exists()


def test_a_folder_that_cannot_be_written_is_reported_with_the_remedy(home):
    home.write_text("a file")
    node = PlainNode()
    weeks = kept([], node)
    for second in (0.0, WRITE_PERIOD_S):
        weeks.take(second, MONDAY, health())
    assert "make it writable" in node.report_of("weeks")[1]
