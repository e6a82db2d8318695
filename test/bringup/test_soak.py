# SPDX-License-Identifier: Apache-2.0
"""A robot under random input on all topics, services and parameters, with nodes killed at random and outside faults.

Afterwards it walks on command; no callback failed, no memory leaked, no joint target jumped. Once on emulated
servos in real time, once in physics on simulated time. In the slice, all nodes of a robot run in one process, and
none of them is killed.
"""

import itertools
import math
import os
import re
import signal
import time
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from support.phantomx import LEGS, robot
from support.real_time.outside_faults import OutsideFaults, PausableLog
from support.real_time.random_operator import RandomOperator
from support.real_time.ros_bench import Stream, assert_sound, twist
from support.real_time.wires import RISING, START, graph_process
from support.suite.soak import SOAK

from hexapod_control.config.motion_file import known_motions
from hexapod_control.config.robots.robot_file import resolve
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.names import joint_names
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED

pytestmark = [pytest.mark.process, pytest.mark.timeout(3600)]

REAL_S, SIMULATED_S = (600.0, 3600.0) if SOAK else (math.inf, math.inf)
INPUTS = math.inf if SOAK else 120
SIMULATION_SPEED = 4.0  # of simulated time; a slow machine makes less of it
SIMULATION_RATE = 100.0 if SOAK else 50.0  # [Hz]
INPUT_PERIOD_S = 0.01
LONG_TEXT_PERIOD_S = 0.02
RETRY_PERIOD_S = 0.5  # between two calls of a service that does not respond
RECOVERY_PERIOD_S = 10.0 if SOAK else 4.0  # of steady time between two attempts of an operator to get the robot walking
KILL_PERIOD_S = 20.0  # a node that crashes three times within a minute ends the graph
CALM_S = 10.0  # of the robot's time at the end without crashes; restarted nodes are discovered in it
WARM_UP_S = 20.0 if SOAK else 0.0  # from the start of a process, after which its memory must not grow
# [bytes] of the resident memory of a node; in the slice, tables for lost legs and a ground are still loaded.
MAX_GROWTH = 5e6 if SOAK else 40e6
KILLED = ("inverse_kinematics", "odometry", "gait_planner", "odometry")  # the planner restarts with the first
KILLS = math.inf if SOAK else 0
ONE_PROCESS = str(not SOAK).lower()
PLANNING = ("inverse_kinematics", "odometry", "gait_planner")
ROBOT, SIMULATION = ("servo_driver", *PLANNING, "web"), ("mujoco_sim", *PLANNING)  # names of the nodes
WORDS = (*joint_names(LEGS), *LEGS, *gaits(robot()), *known_motions())
DEFECT = re.compile(r"report (it|this)|Traceback")
DRIVER_PERIOD_S, JITTER_S = 0.02, 0.03  # of the driver; of driver and emulator in different processes
PAUSE_S = 0.1  # between joint targets
REPORTING = ("/gait_planner", "/inverse_kinematics", "/odometry", "/servo_driver")
PAGE_BYTES = 4096  # unit of /proc/PID/statm


def runs_of(targets, restarts):
    """Runs of joint targets, given with the steady times of their arrival.

    The next run begins at the measured joint angles: after a pause, or after a crash of inverse_kinematics, which may
    be back before a paused simulation goes on.
    """
    runs = [[targets[0][1]]]
    for (then, before), (now, after) in itertools.pairwise(targets):
        gap = messages.nanoseconds(after.header.stamp) - messages.nanoseconds(before.header.stamp)
        if gap > 1e9 * PAUSE_S or any(then < restart <= now for restart in restarts):
            runs.append([])
        runs[-1].append(after)
    return runs


def end_of(log):
    """The last lines of a log, without those about the random publishers of this test."""
    lines = [line for line in log.read_text().splitlines() if "/probe" not in line]
    return "\n".join(lines[-60:])


class Memory:
    """Growth of the resident memory of processes after their first WARM_UP_S."""

    def __init__(self):
        self._seen, self._first, self._last, self._names = {}, {}, {}, {}

    def look(self, pids, now):
        for name, pid in pids.items():
            if now - self._seen.setdefault(pid, now) < WARM_UP_S:
                continue
            self._last[pid] = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
            self._first.setdefault(pid, self._last[pid])
            self._names[pid] = name

    @property
    def growth(self):
        """[bytes] by node; of several processes of one node the maximum."""
        grown = {}
        for pid, name in self._names.items():
            grown[name] = max(grown.get(name, 0), self._last[pid] - self._first[pid])
        return grown


class SoakedGraph:
    """A running graph, its random input, and the operator who recovers the robot afterwards."""

    def __init__(self, bench, process, log, nodes, left_out=()):
        self.bench, self.process, self.log, self.memory = bench, process, log, Memory()
        self.faults = None  # OutsideFaults, if any
        self._simulated = "mujoco_sim" in nodes
        self._clients, self._responses = {}, {}  # by name of the service
        self._recovered = time.monotonic()  # steady time of the last attempt to stand
        self.crashes = []  # steady time and name of killed nodes
        self._odometry, self._states = [], bench.listen(String, "gait_state", LATCHED)
        bench.probe.create_subscription(Odometry, "odom", self._on_odometry, QoSProfile(depth=1))
        bench.until(lambda: self._odometry and self._is_in("sitting", "standing"), START, "a graph that is ready")
        self._reports = {}  # last diagnostics by node
        bench.probe.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, QoSProfile(depth=10))
        self._operator = RandomOperator(bench, 14, WORDS, left_out)
        self._operator.read_parameters(*(f"/{name}" for name in nodes))
        if SOAK:
            self._operator.send_long_texts(LONG_TEXT_PERIOD_S)

    def _on_odometry(self, message):
        self._odometry[:] = [message]

    def _on_diagnostics(self, message):
        self._reports |= {status.name: status.message for status in message.status if status.name in REPORTING}

    def _is_in(self, *states):
        return bool(self._states) and self._states[-1].data in states

    @property
    def time(self):
        """[s] of the robot: simulated or real."""
        return messages.nanoseconds(self._odometry[0].header.stamp) * 1e-9

    def pids(self):
        """Process ids by name of the node, or of the program that runs all of them."""
        pid, found = self.process.pid, {}
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
            found |= {word.rpartition(".")[2]: int(child) for word in words if word.startswith("hexapod_control.")}
        return found

    def endure(self, seconds):
        """Sends random input for a time [s] of the robot's clock, but at most INPUTS."""
        start, now = self.time, self.bench.spin(INPUT_PERIOD_S)
        recovery, kill, killed, inputs = now, now + KILL_PERIOD_S, itertools.cycle(KILLED), itertools.count()
        while self.time - start < seconds and next(inputs) < INPUTS:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            self._operator.act()
            if self.faults is not None:
                self.faults.step()
            now = self.bench.spin(INPUT_PERIOD_S)
            if now > recovery:
                recovery += RECOVERY_PERIOD_S
                self.recover()
                self.memory.look(self.pids(), now)
            if now > kill and self.time - start < seconds - CALM_S and len(self.crashes) < KILLS:
                kill += KILL_PERIOD_S
                name = next(killed)
                os.kill(self.pids()[name], signal.SIGKILL)
                self.crashes.append((now, name))
        if self.faults is not None:
            self.faults.end()
        self._restore_parameters()

    def recover(self):
        """Recovers like an operator: no pause, no calibration, no E-STOP, no fault, torque on, up.

        Without emulated foot loads, a robot counts as lifted and has to sit before it stands.
        """
        if self._simulated:
            self._request(SetBool, "mujoco_sim/set_pause")
        else:
            self._request(Trigger, "servo_driver/calibration/cancel")
        self._request(SetBool, "estop")
        for name in ("reset_fault", "arm", "recover", "stand"):
            self._request(Trigger, name)
        if "no foot bears load" in self._responses["stand"]:
            self._request(Trigger, "sit")

    def _restore_parameters(self):
        """Sets all parameters to their initial values, one by one: read-only ones are refused."""
        for node, parameters in self._operator.initial.items():
            for parameter in parameters:
                self._request(SetParameters, f"{node}/set_parameters", SetParameters.Request(parameters=[parameter]))

    def _request(self, kind, service, request=None):
        """Calls a service again and again until it responds: a killed node stays discovered for seconds."""
        if service not in self._clients:  # a client for each call would remain in the memory of the node
            self._clients[service] = self.bench.probe.create_client(kind, service)
        client, calls = self._clients[service], []

        def responded():
            if not calls or time.monotonic() > calls[-1][0] + RETRY_PERIOD_S:
                calls.append((time.monotonic(), client.call_async(request or kind.Request())))
            return any(future.done() for _, future in calls)

        self.bench.until(responded, START, f"response of {service}")
        response = next(future.result() for _, future in calls if future.done())
        self._responses[service] = getattr(response, "message", "")

    def stands(self):
        """Whether the robot stands; if not, requests it at intervals, as an operator would."""
        now = time.monotonic()
        if not self._is_in("standing", "walking", "rising") or now - self._recovered > RECOVERY_PERIOD_S:
            self.recover()
            self._recovered = now
        return self._is_in("standing")

    def walks(self):
        """Fails unless the robot stands up and then walks at the commanded velocity."""
        self.recover()
        if self._simulated:
            self._request(Trigger, "mujoco_sim/reset_world")  # a push may have turned the robot over
        self._until(self.stands, 2 * RISING, "standing")
        self.bench.publisher(String, "gait").publish(String(data="tripod"))
        self.bench.publisher(Pose, "body_pose").publish(messages.body_pose_message(NEUTRAL))
        self._return_legs()
        stream = Stream(self.bench, lambda: twist(0.06))
        self._until(lambda: self._odometry[0].twist.twist.linear.x > 0.05, RISING, "walking as commanded")
        self.memory.look(self.pids(), time.monotonic())
        stream.stop()

    def _until(self, condition, seconds, what):
        """Spins until the condition holds; a failure shows what the planner has done and reported."""
        try:
            self.bench.until(condition, seconds, what)
        except AssertionError as error:
            states = [state.data for state in self._states[-20:]]
            velocity = self._odometry[0].twist.twist.linear
            raise AssertionError(f"{error}: {states}, {velocity}, {self._responses}, {self._reports}") from error

    def _return_legs(self):
        """Requests all lost legs back: without two of them the robot is slower than commanded here."""
        lost, requests = self.bench.listen(String, "lost_legs", LATCHED), self.bench.publisher(String, "return_leg")
        self.bench.until(lambda: lost, what="lost_legs")
        while legs := lost[-1].data:
            requests.publish(String(data=legs.split(",")[0]))
            self.bench.until(lambda then=legs: lost[-1].data != then, RISING, f"return of one of {legs}")

    def assert_sound(self):
        """Fails if a callback has failed or the memory of a node has grown."""
        assert not [line for line in self.log.read_text().splitlines() if DEFECT.search(line)]
        assert {name: grown for name, grown in self.memory.growth.items() if grown > MAX_GROWTH} == {}


def test_a_robot_on_emulated_servos_walks_after_random_input_on_everything(bench, wire, tmp_path):
    robot_file, log = tmp_path / "robot.yaml", tmp_path / "log.txt"
    robot_file.write_bytes(resolve("phantomx").read_bytes())  # a calibration may be saved
    bus, output = wire(), PausableLog(log)
    given = {"web": "true", "web_port": "0", "sit_on_exit": str(SOAK).lower(), "one_process": ONE_PROCESS}
    process = bus.bringup(output.end, robot=robot_file, **given)
    try:
        graph = SoakedGraph(bench, process, log, ROBOT)
        if SOAK:
            graph.faults = OutsideFaults(bench, 15, output, bus, graph.pids, joint_names(LEGS))
        graph.endure(REAL_S)
        graph.walks()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(START)
        output.close()
        print(end_of(log))  # shown after a failure
    graph.assert_sound()
    bus.world.assert_no_leap(DRIVER_PERIOD_S, JITTER_S)


def test_a_simulated_robot_walks_after_random_input_on_everything(bench, tmp_path):
    log, targets = tmp_path / "log.txt", []
    with log.open("w") as output:
        given = {"use_sim_time": "true", "web": "false", "one_process": ONE_PROCESS}
        process = graph_process("sim", {"sim_speed_factor": SIMULATION_SPEED, "rate": SIMULATION_RATE}, given, output)
    try:
        graph = SoakedGraph(bench, process, log, SIMULATION, left_out=("/joint_targets",))  # these are checked
        bench.probe.create_subscription(
            JointState,
            "joint_targets",
            lambda message: targets.append((time.monotonic(), message)),
            QoSProfile(depth=50),
        )
        graph.endure(SIMULATED_S)
        graph.walks()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(START)
        print(end_of(log))  # shown after a failure
    graph.assert_sound()
    restarts = [when for when, name in graph.crashes if name == "inverse_kinematics"]
    for run in runs_of(targets, restarts):
        assert_sound(run)
