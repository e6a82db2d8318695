# SPDX-License-Identifier: Apache-2.0
"""A robot on emulated servos for tests of nodes: driver in this process or in one of its own, or a whole graph."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from support.kits.recorded_servos import Recorded
from support.phantomx import lying, robot, standing_joints
from support.real_time.ros_bench import Stream, overrides, twist

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import servo_settings

sys.setswitchinterval(0.0005)  # [s] emulator, nodes and test are threads of one process here
START, RISING, ENDING = 90.0, 30.0, 40.0  # [s] allowed for a whole graph on a loaded machine
LATE = 0.2  # [s] allowed for replies: emulator and test share a process


class Wire:
    """The emulated servos of a robot on a pty, and the parameters with which a driver finds them."""

    def __init__(self, path, protocol="feetech_st", start=None, name="phantomx"):
        link = path / "bus"
        file = load(name)
        settings = servo_settings(file, protocol, str(link))
        self.joints = settings.joints
        rest = [extra.rest for extra in file.robot.extra_servos]
        self.world = Recorded(
            settings.servos, PROTOCOLS[protocol].scale, np.append(lying() if start is None else start, rest)
        )
        self.pty = PseudoTerminal(emulated_device(protocol, self.world, settings.ids), settings.baud, link=link)
        self.parameters = {"protocol": protocol, "port": str(link)}
        if name != "phantomx":
            self.parameters["robot"] = name

    def driver(self, bench, reply_margin=0.015, **parameters):
        """The node; it shares the process with the emulator and the planner, so replies may be late."""
        parameters["reply_margin"] = reply_margin
        return bench.add(ServoDriverNode(parameter_overrides=overrides(**self.parameters, **parameters)))

    def process(self):
        """servo_driver as a process of its own."""
        return start("servo_driver", **self.parameters)

    def bringup(self, output=subprocess.PIPE, **arguments):
        """The whole graph of a real robot under its supervisor, in a process of its own."""
        given = {"servo_protocol": self.parameters["protocol"], "servo_port": self.parameters["port"], **arguments}
        return graph_process("bringup", {"reply_margin": LATE}, given, output)


GRAPH = """
import dataclasses, json, sys
from hexapod_control.bringup import node_graph, shared_process
from hexapod_control.bringup.process_supervisor import run
graph, more, *words = sys.argv[1:]
given = dict(word.split("=", 1) for word in words)
without, planning = given.pop("without", ""), given.pop("planning", "")
hardware, *others = (spec for spec in node_graph.specs(graph, given) if spec.executable != without)
hardware = dataclasses.replace(hardware, parameters={**hardware.parameters, **json.loads(more)})
specs = (hardware, shared_process.merged(others)) if planning == "shared" else (hardware, *others)
sys.exit(run((shared_process.merged(specs),) if given.get("one_process") == "true" else specs))
"""


def graph_process(graph, hardware, arguments, output=subprocess.PIPE):
    """A graph under its supervisor, in a process of its own; `hardware` are more parameters of its hardware node.

    `arguments` are launch arguments, `without`, a node that is not started, and `planning="shared"`, one process for
    all nodes but the hardware node.
    """
    words = [f"{name}={value}" for name, value in arguments.items()]
    return spawned([sys.executable, "-c", GRAPH, graph, json.dumps(hardware), *words], output)


def spawned(command, output=subprocess.PIPE):
    """A process in a session of its own, whose output is text in pipes or in a file."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, start_new_session=True, stdout=output, stderr=output, text=True, env=env)


def start(node, *arguments, **parameters):
    """A node of this package as a process of its own."""
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    return spawned([sys.executable, "-m", f"hexapod_control.nodes.{node}.{node}", "--ros-args", *words, *arguments])


class Launched:
    """The graph of a real robot on emulated servos."""

    def __init__(self, bench, wire, output=subprocess.PIPE, **arguments):
        self.bench, self.wire, self.world = bench, wire, wire.world
        self.states, self.holds = bench.listen(String, "gait_state", LATCHED), bench.listen(Bool, "armed", LATCHED)
        self.process = wire.bringup(output, **arguments)
        bench.until(
            lambda: self._is_in_state("sitting", "standing") and self.holds and self.holds[-1].data, START, "ready"
        )

    def _is_in_state(self, *states):
        return self.states and self.states[-1].data in states

    def call(self, service):
        """Calls a service until it succeeds."""
        self.bench.until(lambda: self.bench.call(Trigger, service).success, START, service)

    def stand(self):
        """Stands up; with a stream of commands from before, the robot walks at once."""
        self._begin()
        self.bench.until(lambda: self._is_in_state("standing", "walking"), RISING, "standing")

    def _begin(self):
        """Repeats the request until the planner accepts: it may learn later than the test that the servos are armed."""
        self.bench.until(lambda: self.bench.call(Trigger, "stand").success, RISING, "standing up")

    def begin_to_stand(self):
        self._begin()
        self.bench.until(lambda: self.height() > 0.5 * self.height(standing_joints()), RISING, "half way up")

    def walk(self, vx=0.08):
        self.stand()
        # After a stop, as for a late tick, a robot waits for a zero command.
        Stream(self.bench, lambda: twist(vx if self._is_in_state("walking") or time.monotonic() % 2.0 > 0.7 else 0.0))
        self.bench.until(lambda: self._is_in_state("walking"), RISING, "walking")
        before = self.world.angles()
        self.bench.until(lambda: np.abs(self.world.angles() - before).max() > 0.3, RISING, "servos that walk")

    def height(self, row=None):
        """Mean height [m] of base_link above the feet."""
        return -float(np.mean(forward(robot(), self.world.angles() if row is None else row)[:, 2]))

    def nodes(self):
        """Process ids of the nodes."""
        pid = self.process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def end(self, number, *processes):
        """Signals processes, by default the graph. Returns the joint angles when torque goes off, and all output."""
        for process in processes or (self.process.pid,):
            os.kill(process, number)
        self.bench.until(lambda: not self.world.torques.all(), ENDING, "torque off")
        angles = self.world.angles()
        self.bench.until(lambda: self.process.poll() is not None, ENDING, "end of the graph")
        return angles, "".join(self.process.communicate(timeout=5.0))
