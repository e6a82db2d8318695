# SPDX-License-Identifier: Apache-2.0
"""The process of the gait laboratory: started by a request, also after a crash, and it ends with the node."""

import json
import os
import signal

import pytest
from support.real_time.programs import until

from hexapod_control.nodes.web.laboratory_process import LOW_PRIORITY, LaboratoryProcess
from hexapod_control.web.protocol import LaboratoryMessage

pytestmark = [pytest.mark.process, pytest.mark.waits]

PAGE = 3
OPEN = LaboratoryMessage("open")
MAX_START_S = 20.0


class Pages:
    """The pages that get answers, and the laboratory of a robot."""

    def __init__(self, simulated):
        self.answers = []
        self.laboratory = LaboratoryProcess("phantomx", self.take, lambda page: None, lambda: simulated)

    def take(self, page, kind, fields):
        self.answers.append((page, kind, json.loads(fields["answer"])))

    def asks(self):
        count = len(self.answers)
        self.laboratory.request(PAGE, OPEN)
        until(lambda: len(self.answers) > count, "an answer", MAX_START_S)
        return self.answers[-1]


def children():
    """The processes that this one has started and that still run, with their niceness."""
    found = {}
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
            found |= {int(child): os.getpriority(os.PRIO_PROCESS, int(child)) for child in file.read().split()}
    return found


@pytest.mark.parametrize("simulated", [True, False])
def test_it_answers_with_a_low_priority_beside_a_real_robot_and_ends_with_the_node(simulated):
    before, pages = children(), Pages(simulated)
    page, kind, answer = pages.asks()
    assert (page, kind, answer["shape"]["name"]) == (PAGE, "laboratory", "phantomx")
    (process,) = children().keys() - before.keys()
    assert children()[process] - os.getpriority(os.PRIO_PROCESS, 0) == (0 if simulated else LOW_PRIORITY)
    pages.laboratory.close()
    assert process not in children()


def test_it_is_started_again_after_it_has_crashed():
    before, pages = children(), Pages(True)
    pages.asks()
    (process,) = children().keys() - before.keys()
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    pages.asks()
    pages.laboratory.close()
    assert children().keys() <= before.keys()
