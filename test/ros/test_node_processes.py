# SPDX-License-Identifier: Apache-2.0
"""Nodes as separate processes: killed, flooded, and asked to end while the robot walks."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import VELOCITY_TYPE, Stream, assert_sound, twist, wait_for_stop
from support.real_time.wires import start

from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import FootLayout, JointLayout

SHIFTED_CLOCK = Path(__file__).parents[1] / "support" / "kits" / "shifted_clock.c"
FLOOD = """
import rclpy, select, sys
from geometry_msgs.msg import Twist
rclpy.init()
node = rclpy.create_node("teleop")
publishers = {topic: node.create_publisher(Twist, topic, 1) for topic in sys.argv[1:]}
topic, message = sys.argv[1], Twist()
message.linear.x = 0.05
while True:
    publishers[topic].publish(message)
    if select.select([sys.stdin], [], [], 0.0)[0]:
        topic = sys.stdin.readline().strip()
"""


class Flood:
    """A process that publishes velocities on one of two topics without a pause."""

    def __init__(self, bench, *topics):
        self.bench, self.topics = bench, topics
        self.process = subprocess.Popen(
            [sys.executable, "-c", FLOOD, *topics], start_new_session=True, stdin=subprocess.PIPE, text=True
        )
        self.targets = bench.listen(MultiDOFJointState, "foot_targets")

    def tick_period(self, topic, arrives):
        """The 95th percentile of the time between ticks [s] while a topic is flooded."""
        print(topic, file=self.process.stdin, flush=True)
        self.bench.until(arrives, 60.0, f"flood of {topic}")
        self.targets.clear()
        self.bench.until(lambda: len(self.targets) > 40, 60.0, "40 ticks")
        times = [messages.nanoseconds(message.header.stamp) * 1e-9 for message in self.targets]
        return np.percentile(np.diff(times), 95)

    def end(self):
        self.process.kill()
        self.process.communicate(timeout=10.0)


@pytest.mark.heavy
def test_a_flood_of_commands_does_not_starve_the_loop_and_is_a_stop_once_its_sender_is_killed(bench):
    """A flood costs CPU time whatever is done with it, so the control run floods a topic that the planner ignores.

    The bound protects the control rate: ticks under a flood of commands come at least half as often as under a flood
    of the same size elsewhere. Other load on the machine can hit either run, so one of three pairs has to pass; a loop
    that waits for the queue of commands passes none.
    """
    node = bench.planner(enable_stamped_cmd_vel=False, control_rate=50.0)
    elsewhere = bench.listen(TwistMessage, "elsewhere")
    flood = Flood(bench, "elsewhere", "cmd_vel")

    def slowdown():
        elsewhere.clear()
        undisturbed = flood.tick_period("elsewhere", lambda: elsewhere)
        return flood.tick_period("cmd_vel", lambda: node.output.last.twist.vx > 0.04) / undisturbed

    try:
        assert any(slowdown() <= 2.0 for _ in range(3))
    finally:
        flood.end()
    wait_for_stop(bench, node)
    assert "while walking: stopping; is its sender running?" in node.last_report("cmd_vel timeout")


class Planner:
    """gait_planner as a process, with kinematics and driver in the test."""

    def __init__(self, bench, *arguments):
        self.bench, self.arguments = bench, arguments
        self.kinematics, self.driver = bench.add(InverseKinematicsNode()), bench.driver(standing_joints())
        self.targets = bench.listen(JointState, "joint_targets")
        self.feet = bench.listen(MultiDOFJointState, "foot_targets")
        self.executed = bench.velocities("cmd_vel_out")
        self.process = self.spawn()

    def spawn(self):
        return start("gait_planner", "-p", "publish_limited_velocity:=true", *self.arguments)

    def walk(self):
        self.bench.until(lambda: self.bench.probe.count_subscribers("cmd_vel"), 20.0, "start of the planner")
        stream = Stream(self.bench, lambda: twist(0.08))
        self.bench.until(lambda: self.executed and self.executed[-1].linear.x > 0.07, 10.0)
        return stream

    def assert_ends_on_its_feet(self, *signals):
        """Ends a planner whose robot walks: the feet are set down, and a last zero is published."""
        for number in signals:
            self.process.send_signal(number)
        self.bench.until(lambda: self.process.poll() is not None, 4.0, "end of the planner")
        self.bench.until(lambda: self.executed[-1].linear.x == 0.0, 1.0, "a last zero")
        assert self.process.returncode == 0
        layout = FootLayout(robot())
        self.bench.until(lambda: not layout.feet(self.feet[-1]).velocities.any(), 1.0, "a last row at rest")
        last = layout.feet(self.feet[-1])
        assert (last.forces > 0.0).all()
        assert np.ptp(last.positions[:, 2]) < 1e-3
        assert_sound(self.targets)
        assert "Traceback" not in "".join(self.end())

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        return self.process.communicate(timeout=5.0)


@pytest.fixture
def chain(bench):
    chain = Planner(bench)
    yield chain
    chain.end()


class SystemClock:
    """The system clock of the programs that are started while it is installed; the test sets it."""

    def __init__(self, tmp_path, monkeypatch):
        library, self._file = tmp_path / "clock.so", tmp_path / "shift"
        self._file.write_bytes(bytes(8))
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SHIFTED_CLOCK, "-ldl"], check=True)
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("CLOCK_SHIFT", str(self._file))

    def set(self, shift):
        """Sets it `shift` [s] ahead of the true time."""
        with self._file.open("r+b") as file:
            file.write(round(shift * 1e9).to_bytes(8, "little", signed=True))


@pytest.mark.process
@pytest.mark.compiler
def test_a_walking_robot_does_not_notice_that_the_computers_clock_is_set(bench, tmp_path, monkeypatch):
    clock = SystemClock(tmp_path, monkeypatch)
    chain = Planner(bench)
    monkeypatch.undo()
    try:
        bench.until(lambda: bench.probe.count_subscribers("cmd_vel"), 20.0, "start of the planner")
        stamps = []
        shift = 0.0  # a source on the same computer: its clock is set, too
        publisher = bench.probe.create_publisher(VELOCITY_TYPE, "cmd_vel", 1)

        def drive():
            message, now = twist(0.08), bench.probe.get_clock().now().nanoseconds
            if VELOCITY_TYPE is TwistStamped:
                message = TwistStamped(twist=message)
                message.header.stamp = messages.time(now + round(shift * 1e9))
            publisher.publish(message)

        bench.probe.create_timer(0.05, drive)
        bench.until(lambda: chain.executed and chain.executed[-1].linear.x > 0.07, 10.0, "walking")
        for shift in (3600.0, -3600.0, 0.4, -0.4, 0.0):
            clock.set(shift)
            stamps.append(len(chain.feet))
            bench.spin(0.8)
            assert len(chain.feet) - stamps[-1] > 15 and chain.executed[-1].linear.x > 0.07, shift
            ahead = messages.nanoseconds(chain.feet[-1].header.stamp) - bench.probe.get_clock().now().nanoseconds
            assert abs(1e-9 * ahead - shift) < 0.2  # the clock was set
        assert_sound(chain.targets)
    finally:
        chain.end()


@pytest.mark.process
def test_a_signal_while_walking_puts_the_feet_down_and_ends_with_a_zero_and_exit_code_0(chain):
    chain.walk()
    chain.assert_ends_on_its_feet(signal.SIGINT, signal.SIGINT)  # launch sends two


@pytest.mark.process
def test_with_sit_on_exit_a_walking_robot_lies_down_before_the_planner_ends(bench):
    chain = Planner(bench, "-p", "sit_on_exit:=true")
    try:
        states = bench.listen(String, "gait_state", LATCHED)
        chain.walk()
        chain.process.terminate()
        bench.until(lambda: chain.process.poll() is not None, 10.0, "end of the planner")
        assert chain.process.returncode == 0
        bench.until(lambda: [state.data for state in states][-2:] == ["sinking", "sitting"], what="its last state")
        last = FootLayout(robot()).feet(chain.feet[-1])
        belly = robot().body.center[2] - robot().body.size[2] / 2
        assert (last.positions[:, 2] - robot().foot_radius > belly).all()
        assert_sound(chain.targets)
    finally:
        chain.end()


@pytest.mark.process
def test_the_robot_holds_while_the_planner_is_late_or_killed_until_it_is_back(bench, chain):
    """In the end SIGTERM, as from systemd, puts the feet down as Ctrl-C does."""
    reports = bench.listen(DiagnosticArray, "/diagnostics", QoSProfile(depth=50))
    stream = chain.walk()
    chain.process.send_signal(signal.SIGSTOP)
    bench.until(lambda: "no foot_targets for 0.2 s while moving" in chain.kinematics.last_report("late"), 0.5, "report")
    bench.until(lambda: chain.driver.driver.holding, 0.5, "the driver holds")
    bench.spin(0.3)  # the planner counts from the tick that it missed
    chain.process.send_signal(signal.SIGCONT)
    bench.until(lambda: any(" s late, the robot held" in array.status[0].message for array in reports), 3.0, "report")
    bench.until(lambda: chain.executed[-1].linear.x > 0.07 and not chain.driver.driver.holding, 5.0, "the walk")
    assert_sound(chain.targets)
    chain.process.kill()
    chain.process.communicate(timeout=5.0)
    bench.until(lambda: chain.driver.driver.holding, 1.0, "the driver holds")
    bench.until(lambda: "no joint_targets for 0.2 s while moving" in chain.driver.last_report("silence"), 1.0, "report")
    stream.command = twist
    before, chain.executed[:] = len(chain.targets), []
    chain.process = chain.spawn()
    bench.until(lambda: len(chain.targets) > before, 10.0, "targets of the successor")
    first, last = (JointLayout(robot()).joints(chain.targets[i]) for i in (before, before - 1))
    assert np.abs(first - last).max() < 0.12
    stream.command = lambda: twist(0.08)
    bench.until(lambda: chain.executed and chain.executed[-1].linear.x > 0.07, 10.0)
    chain.assert_ends_on_its_feet(signal.SIGTERM)
