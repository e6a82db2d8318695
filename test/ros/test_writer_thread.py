# SPDX-License-Identifier: Apache-2.0
"""A thread that writes: its callers never wait, and what it cannot keep is counted."""

import threading

from hexapod_control.ros.writer_thread import WriterThread

LIMIT = 5.0  # [s]


def test_jobs_run_in_order_and_the_oldest_are_dropped_and_counted_while_one_is_blocked():
    done, missing, blocked, go_on = [], [], threading.Event(), threading.Event()
    writer = WriterThread("test", 3, missing.append)

    def block():
        blocked.set()
        go_on.wait(LIMIT)

    writer.put(block)
    assert blocked.wait(LIMIT)
    for number in range(10):
        writer.put(lambda number=number: done.append(number))
    assert writer.dropped == 7 and not writer.wait(0.01)
    go_on.set()
    assert writer.wait(LIMIT)
    assert done == [7, 8, 9] and missing == [7]


def test_a_queue_of_one_keeps_the_newest_job():
    done, go_on = [], threading.Event()
    writer = WriterThread("test", 1)
    writer.put(lambda: go_on.wait(LIMIT))
    for number in range(5):
        writer.put(lambda number=number: done.append(number))
    go_on.set()
    assert writer.wait(LIMIT) and done[-1] == 4
