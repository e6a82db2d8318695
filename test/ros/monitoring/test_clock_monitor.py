# SPDX-License-Identifier: Apache-2.0
"""The clock is missing, runs, is paused or has stopped."""

import pytest
from builtin_interfaces.msg import Time

from hexapod_control.ros.monitoring.clock_monitor import MAX_SILENCE_S, ClockMonitor, ClockState


class Watched:
    """A monitor with its reports; time advances in steps of 50 ms."""

    def __init__(self):
        self.texts, self.stops, self.now, self.sent = [], 0, 0.0, 10.0
        self.monitor = ClockMonitor(0.0, self.texts.append, self._stopped)

    def _stopped(self):
        self.stops += 1

    def run(self, seconds, rate=None):
        """Lets time pass with a /clock that is silent (None) or runs at a multiple of real time."""
        states = []
        for _ in range(round(seconds / 0.05)):
            self.now += 0.05
            if rate is not None:
                self.sent += 0.05 * rate
                self.monitor.note(Time(sec=int(self.sent), nanosec=int(self.sent % 1.0 * 1e9)), self.now)
            states.append(self.monitor.check(self.now))
        return states[-1]


def test_a_clock_that_never_came_is_reported_after_a_while():
    watched = Watched()
    assert watched.run(1.0) is ClockState.STARTING
    assert watched.run(1.0) is ClockState.MISSING
    assert "use_sim_time is true but /clock is silent" in watched.texts[-1]


@pytest.mark.parametrize("rate", [0.01, 1.0, 50.0])
def test_a_running_clock_is_never_reported(rate):
    watched = Watched()
    assert watched.run(5.0, rate) is ClockState.RUNNING
    assert (watched.texts, watched.stops) == ([], 0)


def test_a_paused_clock_repeats_its_time_and_is_not_reported():
    watched = Watched()
    watched.run(1.0, 1.0)
    assert watched.run(5.0, 0.0) is ClockState.PAUSED
    assert (watched.texts, watched.stops) == ([], 0)
    assert watched.monitor.cause("why?", watched.now) == "why?"
    assert watched.run(0.1, 1.0) is ClockState.RUNNING


def test_a_clock_that_stops_is_reported_and_stops_the_robot_once_each_time():
    watched = Watched()
    for count in (1, 2):
        watched.run(1.0, 1.0)
        watched.texts.clear()
        assert watched.run(MAX_SILENCE_S - 0.1) is not ClockState.STOPPED
        assert watched.run(3.0) is ClockState.STOPPED
        assert watched.stops == count
        assert set(watched.texts) == {f"/clock has stopped at {10 + count:.2f} s: is the simulator running?"}


def test_a_silence_is_attributed_to_the_clock_once_the_clock_is_late():
    watched = Watched()
    watched.run(1.0, 1.0)
    assert watched.monitor.cause("is it running?", watched.now) == "is it running?"
    watched.run(0.2)
    assert "/clock has stopped at" in watched.monitor.cause("is it running?", watched.now)
