# SPDX-License-Identifier: Apache-2.0
"""Two graphs of simulated robots that are started at one moment, and what an observer sees of them.

`python test/support/real_time/double_starts.py 20` prints the figures of 20 such starts, each of them with one process
for each node and with one process for all; in a network namespace of its own nothing else is disturbed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import NamedTuple

import rclpy
from rclpy.context import Context
from std_msgs.msg import String

from hexapod_control.ros.qos import LATCHED_HISTORY
from hexapod_control.ros.transport.executor import Spinner

MAX_WAIT_S = 60.0  # for one graph to stand and for the other to end
LINGERING_S = 3.0  # of the observation after that
PERIOD_S = 0.02  # of the observation
ROBOT = """
import sys
from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import run
from hexapod_control.bringup.shared_process import merged

specs = node_graph.specs("sim", {"stand_on_start": "true", "web": "false"})
sys.exit(run([merged(specs)] if sys.argv[1] == "one" else specs))
"""


class Observed(NamedTuple):
    """What was seen of two graphs that were started at one moment."""

    together: float  # [s] for which there were two publishers of joint_targets
    rises: int  # times that a planner began to stand up
    running: int  # graphs that run at the end
    refusals: str  # output of the graphs that have ended

    @property
    def sound(self) -> bool:
        """Whether one robot was driven by one graph."""
        return self.together <= 0.5 and self.rises == self.running == 1


class Graph:
    """A graph as a program; `processes` is "one" or "many"."""

    def __init__(self, processes: str) -> None:
        command = [sys.executable, "-c", ROBOT, processes]
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **out)

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def end(self) -> str:
        """Ends it. Returns its output."""
        if self.runs:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.communicate(timeout=MAX_WAIT_S)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[0]


def observe(processes: str) -> Observed:
    """Starts two graphs at one moment, and ends them when one stands and the other has ended, or neither changes."""
    context = Context()
    rclpy.init(context=context, args=[])
    node = rclpy.create_node("observer", context=context)
    spinner, states = Spinner(context), []
    spinner.add_node(node)
    node.create_subscription(String, "gait_state", lambda message: states.append(message.data), LATCHED_HISTORY)
    graphs = [Graph(processes), Graph(processes)]
    together, seen = 0.0, time.monotonic()
    end = seen + MAX_WAIT_S
    settled = False
    while (now := time.monotonic()) < end and any(graph.runs for graph in graphs):
        spinner.spin_once(timeout_sec=PERIOD_S)
        if node.count_publishers("joint_targets") > 1:
            together += time.monotonic() - now
        if not settled and "standing" in states and sum(graph.runs for graph in graphs) == 1:
            settled, end = True, now + LINGERING_S
    running = [graph.runs for graph in graphs]
    texts = [graph.end() for graph in graphs]
    spinner.shutdown(timeout_sec=0.0)
    node.destroy_node()
    context.try_shutdown()
    ended = "".join(text for text, runs in zip(texts, running, strict=True) if not runs)
    return Observed(together, states.count("rising"), sum(running), ended)


def main() -> None:
    """Prints the figures of as many double starts as given."""
    for processes in ("one", "many"):
        found = []
        for _ in range(int(sys.argv[1])):
            found.append(observe(processes))
            print(processes, found[-1][:3], flush=True)
        worst = max(each.together for each in found)
        good = sum(each.sound for each in found)
        print(f"{processes}: {good} of {len(found)} sound, two publishers of joint_targets for at most {worst:.2f} s")


if __name__ == "__main__":
    main()
