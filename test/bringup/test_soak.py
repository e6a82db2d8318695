"""A robot under random input on all topics, services and parameters, with nodes killed at random.

Afterwards it walks on command; no callback has failed, no node has grown, no servo was told to jump.
"""

import os
import random
import re
import signal
from pathlib import Path

import pytest
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from std_srvs.srv import SetBool, Trigger
from support.phantomx import LEGS
from support.real_time.random_operator import RandomOperator
from support.real_time.ros_bench import Stream, twist
from support.real_time.wires import RISING

from hexapod_control.config.motions.motion_library import known_motions
from hexapod_control.config.robots.robot_file import resolve
from hexapod_control.core.gait.gait_table import gaits

pytestmark = [pytest.mark.process, pytest.mark.timeout(1200)]

DURATION_S = 600.0 if os.environ.get("HEXAPOD_SOAK") else 110.0
INPUT_PERIOD_S = 0.01
RECOVERY_PERIOD_S = 10.0  # between two attempts of an operator to get the robot walking
KILL_PERIOD_S = 25.0
DRIVER_PERIOD_S, JITTER_S = 0.02, 0.03  # of the driver; of driver and emulator in different processes
WARM_UP_SHARE = 0.3  # of the duration, after which memory must not grow
MAX_GROWTH = 5e6  # [bytes] of the resident memory of a node
KILLED = ()
NODES = ("/servo_driver", "/inverse_kinematics", "/gait_planner", "/odometry", "/web")
WORDS = (*(f"{leg}_{part}_joint" for leg in LEGS for part in ("coxa", "femur", "tibia")), *LEGS, *gaits(LEGS))
DEFECT = re.compile(r"report (it|this)|Traceback")
PAGE = 4096  # [bytes] of /proc/PID/statm


class Memory:
    """Resident memory of processes, from the first look at each to the last."""

    def __init__(self):
        self._first, self._last, self._names = {}, {}, {}

    def look(self, pids):
        for name, pid in pids.items():
            self._last[pid] = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
            self._first.setdefault(pid, self._last[pid])
            self._names[pid] = name

    @property
    def growth(self):
        """[bytes] by node; of several processes of one node the greatest."""
        grown = {}
        for pid, name in self._names.items():
            grown[name] = max(grown.get(name, 0), self._last[pid] - self._first[pid])
        return grown


def executables(pids):
    """Process ids by name of the node."""
    found = {}
    for pid in pids:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        modules = [word.decode() for word in words if word.startswith(b"hexapod_control.nodes.")]
        if modules:
            found[modules[0].rpartition(".")[2]] = pid
    return found


def recover(bench):
    """What an operator does after anything: E-STOP released, fault cleared, torque on, up."""
    for kind, name in ((SetBool, "estop"), (Trigger, "reset_fault"), (Trigger, "arm"), (Trigger, "stand")):
        bench.call(kind, name)


def stands(bench, states):
    """Whether the robot stands; asks for it like an operator if it does not."""
    if states[-1].data not in ("standing", "walking", "rising"):
        recover(bench)
    return states[-1].data == "standing"


def test_a_robot_walks_after_random_input_on_everything(bench, launched, tmp_path):
    rng = random.Random(14)
    robot_file, log = tmp_path / "robot.yaml", tmp_path / "log.txt"
    robot_file.write_bytes(resolve("phantomx").read_bytes())  # a calibration may be saved
    with log.open("w") as output:
        graph = launched(output=output, robot=robot_file, web="true", web_port="0")
    memory, odometry = Memory(), bench.listen(Odometry, "odom", QoSProfile(depth=1))
    operator = RandomOperator(bench, 14, (*WORDS, *known_motions()))
    operator.read_parameters(*NODES)
    graph.stand()
    start = now = bench.spin(INPUT_PERIOD_S)
    recovery, kill = start + RECOVERY_PERIOD_S, start + KILL_PERIOD_S
    while now - start < DURATION_S:
        assert graph.process.poll() is None, log.read_text()[-2000:]
        operator.act()
        now = bench.spin(INPUT_PERIOD_S)
        if now > recovery:
            recovery += RECOVERY_PERIOD_S
            recover(bench)
        if KILLED and now > kill:
            kill += KILL_PERIOD_S
            os.kill(executables(graph.nodes())[rng.choice(KILLED)], signal.SIGKILL)
        if now - start > WARM_UP_SHARE * DURATION_S:
            memory.look(executables(graph.nodes()))
    operator.restore_parameters()
    bench.until(lambda: stands(bench, graph.states), RISING, "standing")
    stream = Stream(bench, lambda: twist(0.06))
    bench.until(lambda: odometry[-1].twist.twist.linear.x > 0.05, RISING, "walking at the commanded velocity")
    stream.stop()
    assert not [line for line in log.read_text().splitlines() if DEFECT.search(line)]
    assert all(growth < MAX_GROWTH for growth in memory.growth.values()), memory.growth
    graph.world.assert_no_leap(DRIVER_PERIOD_S, JITTER_S)
