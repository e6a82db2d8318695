# SPDX-License-Identifier: Apache-2.0
"""How many files a reader opens to follow a joint goal to the wire, measured while it runs."""

import sys
from contextlib import contextmanager
from statistics import median

import hexapod_control

ON_THE_WAY = 10  # files
IN_A_CYCLE = 20
PACKAGE = hexapod_control.__path__[0]
EMULATED = f"{PACKAGE}/servos/emulator"  # the other end of the line
STAGES = {"Driver.take", "DriverCycle.take", "TargetFollower.take", "TargetFollower.step", "ServoGroup.send"}
SENT = "Transaction.send"  # what follows sends the bytes of the frame


class Trace:
    """The files of the package in which functions are called."""

    def __init__(self):
        self.files, self.goal_files = set(), set()
        self._stages = self._emulated = 0  # depth of calls
        self._sent = False

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGE):
            return
        step = 1 if event == "call" else -1
        self._emulated += step * code.co_filename.startswith(EMULATED)
        self._stages += step * (code.co_qualname in STAGES)
        if self._emulated or event == "return":
            return
        self._sent |= code.co_qualname == SENT
        self.files.add(code.co_filename)
        if self._stages and not self._sent:
            self.goal_files.add(code.co_filename)


@contextmanager
def traced():
    trace = Trace()
    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(before)


def test_from_a_joint_goal_to_the_frame_for_feetech_servos_there_are_at_most_ten_files(simulated):
    bench = simulated("feetech_st")
    bench.during(1.5)  # the ramp after arming is over
    in_cycles = []
    for _ in range(50):
        with traced() as trace:
            bench.driver.take(bench.row, None, bench.time.now)
            bench.driver.cycle()
        in_cycles.append(len(trace.files))
        assert 0 < len(trace.goal_files) <= ON_THE_WAY, sorted(trace.goal_files)
    assert median(in_cycles) <= IN_A_CYCLE, sorted(trace.files)
