# SPDX-License-Identifier: Apache-2.0
"""A process of the robot hangs: the page locks every control, says so, and starts the process again. Real processes."""

import os
import signal

import pytest
from support.page_messages import TOKEN
from support.real_time.programs import until
from support.real_time.web.web_bench import Loop, Visitor

from hexapod_control.bringup.node_graph import NodeSpec
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.web.robot_condition import CONTROLS

pytestmark = [pytest.mark.process, pytest.mark.waits]

NODE = "inverse_kinematics"
MAX_START_S = 20.0
MAX_NAMED_S = 3.0  # two seconds, and one for a busy machine


class Hanging:
    """The node of the page and one node of the control chain, as processes that a supervisor has started."""

    def __init__(self, robot):
        self.lines, self.loop = [], Loop()
        page = {"port": 0, "token": TOKEN, "rate": 10.0, "robot": robot}
        specs = (NodeSpec(NODE, parameters={"robot": robot}), NodeSpec("web", parameters=page))
        self.supervisor = Supervisor(specs, self.lines.append)

    def open(self):
        def port():
            found = [line for line in self.lines if "http://" in line]
            return found and int(found[0].split("http://")[1].split("/")[0].rpartition(":")[2])

        until(port, "the address of the page", MAX_START_S)
        self.visitor = Visitor(self.loop, port())

    @property
    def now(self):
        states = self.visitor.received("state")
        return states[-1]["now"] if states else {"say": "", "values": {}}

    def says(self, say, seconds):
        def said():
            self.supervisor.check()
            return self.now["say"] == say

        until(said, f"{say}; the page says {self.visitor.messages[-1:]}, the log {self.lines[-3:]}", seconds)


@pytest.fixture
def hanging():
    robot = Hanging("phantomx")
    with robot.supervisor:
        robot.open()
        yield robot
        robot.visitor.close()
    robot.loop.close()


def test_a_stopped_process_is_named_with_all_controls_locked_recovers_and_is_started_again_from_the_page(hanging):
    hanging.says("missing", MAX_START_S)  # the planner, which is not started here
    process = hanging.supervisor.pids[NODE]
    os.kill(process, signal.SIGSTOP)
    hanging.says("stale", MAX_NAMED_S)
    until(lambda: hanging.now["step"] == "restart", "the next step", MAX_NAMED_S)
    now = hanging.now
    assert (now["values"]["node"], now["why"]) == (NODE, "why_hung")
    assert now["locked"] == list(CONTROLS)
    os.kill(process, signal.SIGCONT)
    hanging.says("missing", MAX_NAMED_S)
    hanging.visitor.send("request", what="restart")
    hanging.visitor.wait(lambda: hanging.visitor.received("answer"))
    assert hanging.visitor.received("answer")[-1]["text"] == "restart_needless"
    assert hanging.visitor.received("status")[-1]["restartable"] == [NODE]
    os.kill(process, signal.SIGSTOP)
    hanging.says("stale", MAX_NAMED_S)
    hanging.visitor.send("request", what="restart")
    hanging.says("missing", MAX_START_S)
    assert hanging.supervisor.pids[NODE] != process
    assert any(f"{NODE} died with exit code -9 (SIGKILL): it starts again" in line for line in hanging.lines)


def test_a_healthy_node_is_restarted_from_the_page_once_a_minute_and_a_missing_one_never(hanging):
    hanging.says("missing", MAX_START_S)
    process = hanging.supervisor.pids[NODE]

    def answer(node):
        before = len(hanging.visitor.received("answer"))
        hanging.visitor.send("node", name=node)
        hanging.visitor.wait(lambda: len(hanging.visitor.received("answer")) > before)
        return hanging.visitor.received("answer")[-1]

    assert answer("gait_planner")["text"] == "restart_impossible"
    assert answer(NODE)["ok"]

    def started_again():
        hanging.supervisor.check()
        return hanging.supervisor.pids[NODE] != process

    until(started_again, "another process", MAX_START_S)
    until(lambda: answer(NODE)["text"] == "restart_again", "the node is there again", MAX_START_S)
