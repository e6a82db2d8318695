# SPDX-License-Identifier: Apache-2.0
"""The supervisor with real processes: nodes that die are restarted or end the graph, and all are stopped in order.

Stub programs replace the nodes. Tests wait for output of the supervisor, never for a fixed time.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from hexapod_control.bringup.node_graph import NodeSpec
from hexapod_control.bringup.process_supervisor import NodeExitError, Supervisor

pytestmark = pytest.mark.process

MAX_WAIT_S = 20.0  # for anything
SPECS = (
    NodeSpec("mujoco_sim"),
    NodeSpec("inverse_kinematics", needs=("mujoco_sim",)),
    NodeSpec("odometry", needs=("mujoco_sim",)),
    NodeSpec("gait_planner", needs=("inverse_kinematics",)),
)
NODE = """
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: (print("stopping", flush=True), sys.exit(0)))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
print("ready", os.getpid(), flush=True)
while True:
    signal.pause()
"""
STUBBORN = """
import os, signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
print("ready", os.getpid(), flush=True)
while True:
    signal.pause()
"""
PROGRAM = """
import json, sys
from hexapod_control.bringup.node_graph import NodeSpec
from hexapod_control.bringup.process_supervisor import run
specs = [NodeSpec(name, needs=tuple(needs)) for name, needs in json.loads(sys.argv[1])]
sys.exit(run(specs, command=lambda spec: sys.argv[2:]))
"""


def stand_in(spec):
    return [sys.executable, "-S", "-c", NODE]  # -S: the start takes half the processor time


class Program:
    """The supervisor as a process, and its output."""

    def __init__(self):
        graph = json.dumps([(spec.executable, spec.needs) for spec in SPECS])
        arguments = [sys.executable, "-c", PROGRAM, graph, *stand_in(None)]
        self.process = subprocess.Popen(arguments, stderr=subprocess.PIPE, start_new_session=True)
        os.set_blocking(self.process.stderr.fileno(), False)
        self.text = ""
        self.wait_for(lambda: len(self.pids()) == len(SPECS))

    def pids(self):
        return {name: int(pid) for name, pid in re.findall(r"\[(\w+)\] ready (\d+)", self.text)}

    def wait_for(self, condition):
        deadline = time.monotonic() + MAX_WAIT_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain, seen: {self.text}"
            if select.select([self.process.stderr], [], [], 0.2)[0]:
                self.text += (self.process.stderr.read() or b"").decode()

    def end(self):
        code = self.process.wait(MAX_WAIT_S)
        self.text += (self.process.stderr.read() or b"").decode()
        return code


@pytest.fixture
def program():
    program = Program()
    yield program
    for pid in (program.process.pid, *program.pids().values()):
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    program.process.wait(MAX_WAIT_S)
    program.process.stderr.close()


def alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends before it is read
        return False


def wait_until_gone(pids):
    deadline = time.monotonic() + MAX_WAIT_S
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < deadline, f"still there: {left}"
        select.select([], [], [], 0.02)


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 5), (signal.SIGTERM, 1), (signal.SIGHUP, 1)])
def test_a_signal_stops_all_nodes_with_exit_code_zero_and_those_that_others_depend_on_last(program, number, times):
    for _ in range(times):  # repeated signals change nothing
        program.process.send_signal(number)
    assert program.end() == 0
    assert not [pid for pid in program.pids().values() if alive(pid)]
    order = re.findall(r"\[(\w+)\] stopping", program.text)
    assert sorted(order[:2]) == ["gait_planner", "odometry"]
    assert order[2:] == ["inverse_kinematics", "mujoco_sim"]


@pytest.mark.parametrize("step", [1, -1], ids=["the needed first", "the needed last"])
def test_nodes_that_are_signalled_before_the_supervisor_are_no_crashes(program, step):
    for spec in SPECS[::step]:
        os.kill(program.pids()[spec.executable], signal.SIGINT)
    wait_until_gone(program.pids().values())
    program.process.send_signal(signal.SIGINT)
    assert program.end() == 0
    assert "died" not in program.text


@pytest.mark.parametrize(
    ("name", "together", "effect"),
    [
        ("odometry", [], "the robot keeps going"),
        ("inverse_kinematics", ["gait_planner"], "the robot holds, and walks again on command"),
    ],
)
def test_a_node_that_dies_is_restarted_alone_or_with_the_planner_until_its_third_crash(program, name, together, effect):
    restarted, kept = [name, *together], program.pids()
    for crash in (1, 2):
        before = program.pids()
        os.kill(before[name], signal.SIGKILL)
        program.wait_for(lambda before=before: all(program.pids()[each] != before[each] for each in restarted))
        delay = (0.5, 1)[crash - 1]
        together_text = "".join(f" with {each}" for each in together)
        text = f"{name} died with exit code -9 (SIGKILL): it starts again{together_text} in {delay} s; {effect}\n"
        assert program.text.count(text) == 1
    assert {each for each, pid in program.pids().items() if pid == kept[each]} == set(kept) - set(restarted)
    os.kill(program.pids()[name], signal.SIGKILL)
    assert program.end() == 1
    assert f"{name} died with exit code -9 (SIGKILL) (crash 3 within 60 s): the robot holds" in program.text
    assert not [pid for pid in program.pids().values() if alive(pid)]


def test_a_simulator_that_dies_is_named_and_the_others_are_stopped(program):
    os.kill(program.pids()["mujoco_sim"], signal.SIGKILL)
    assert program.end() == 1
    assert "mujoco_sim died with exit code -9 (SIGKILL): the robot holds" in program.text
    assert "restart with: " in program.text
    assert not [pid for pid in program.pids().values() if alive(pid)]


def test_a_killed_supervisor_leaves_no_orphans(program):
    program.process.kill()
    program.end()
    wait_until_gone(program.pids().values())


def test_a_node_that_hangs_is_killed():
    with Supervisor(
        [NodeSpec("stubborn")],
        command=lambda spec: [sys.executable, "-c", STUBBORN],
        stop_timeout=0.2,
        output=lambda line: None,
    ) as supervisor:
        [pid] = supervisor.pids.values()
    assert not alive(pid)


def test_a_node_that_refuses_its_parameters_is_not_restarted():
    def command(spec):
        return [sys.executable, "-c", "exit(2)"] if spec.executable == "gait_planner" else stand_in(spec)

    lines = []
    with pytest.raises(NodeExitError, match="planner refused to start for the reason above") as caught:  # noqa: SIM117
        with Supervisor(SPECS, command=command, output=lines.append) as supervisor:
            deadline = time.monotonic() + MAX_WAIT_S
            while time.monotonic() < deadline:
                supervisor.check()
    assert (caught.value.executable, caught.value.code) == ("gait_planner", 2)
    assert not [pid for pid in supervisor.pids.values() if alive(pid)]


def test_a_program_that_cannot_be_started_stops_the_running_ones():
    def command(spec):
        return ["/no/such/program"] if spec.executable == "gait_planner" else stand_in(spec)

    supervisor = Supervisor(SPECS, command=command)
    with pytest.raises(FileNotFoundError):
        supervisor.__enter__()
    assert len(supervisor.pids) == 3
    assert not [pid for pid in supervisor.pids.values() if alive(pid)]
