# SPDX-License-Identifier: Apache-2.0
"""Two robots in namespaces of one graph, each simulated on its own: commands to one do not reach the other.

Robot a runs on simulated time: its world waits for its controller, so that a busy machine makes it slower in real time,
but does not change how far it walks in simulated time. Its planner and its page are a process apart from its world.
Robot b runs in real time, with all nodes in one process: a graph has one /clock.
"""

import math
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from std_msgs.msg import String
from support.real_time.programs import PROGRAM

from hexapod_control.bags import bag_file
from hexapod_control.bags.recorded_run import load_run
from hexapod_control.bags.run_comparison import compare_runs
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.bringup.shared_process import merged
from hexapod_control.cli.main import main, parser
from hexapod_control.cli.sim import simulation_run as cli_run
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.config.robots.robot_file import load, odometry_scale
from hexapod_control.core.kinematics.se2 import ZERO, Twist, wrap
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.nodes.announcements.graph_presence import ANNOUNCED_S
from hexapod_control.nodes.announcements.node_presence import NodePresence
from hexapod_control.nodes.recorder.topic_taps import GLOBAL
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import LATCHED
from hexapod_control.sim.world_settings import WorldSettings

MAX_WAIT_S = 60.0  # for anything
RATE = 50.0  # [Hz] of the worlds: the lowest, as this file is about names, not about quality
RAMP_S = 1.5  # until a twist is reached
DRIVE_S = 0.9  # measured, a cycle of a tripod
AHEAD, ASIDE, TURN = Twist(0.08, 0.0, 0.0), Twist(0.0, -0.08, 0.0), Twist(0.0, 0.0, 0.4)
NAMES = ("a", "b")
MIN_SHARE, MAX_SHARE = 0.3, 1.5  # of the commanded speed of robot b, whose world and planner may miss ticks
MAX_ROUNDS = 6  # to measure a robot that other programs may slow down
MIN_PACE = 0.5  # of a recorded robot, as a share of its pace without a recording: no publisher waits for a recorder


class Robots:
    """Two robots, as two runs of `hexapod sim --namespace` start them, and an operator for each."""

    def __init__(self, stack):
        self.lines = []
        *first, planner, web, frames = specs("a", rate=RATE, use_sim_time=True)
        graphs = ((merged(first), merged((planner, web, frames))), (merged(specs("b", rate=RATE)),))
        self.supervisors = [stack.enter_context(Supervisor(graph, self.lines.append)) for graph in graphs]
        stamped = stamped_by_default()
        self.operators = [stack.enter_context(SimulationClient(ConnectionOptions(name, stamped))) for name in NAMES]

    def until(self, condition, what, seconds=MAX_WAIT_S):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}: {self.lines[-5:]}"
            for supervisor, operator in zip(self.supervisors, self.operators, strict=True):
                supervisor.check()
                operator.spin(0.01)

    def stand(self):
        for operator in self.operators:
            self.until(lambda operator=operator: not operator.missing(), "nodes")
            operator.twist = ZERO
            if operator.state != "standing":
                operator.request("stand")
        self.until(lambda: all(o.state == "standing" and max(o.maxima) > 0.0 for o in self.operators), "standing")

    def drive(self, *twists):
        """Drives all at the same time; returns the true displacement (x, y) [m] and turn [rad] of each."""
        for operator, twist in zip(self.operators, twists, strict=True):
            operator.twist = twist
        tracks = [operator.truth for operator in self.operators]
        begin = [track.last.time for track in tracks]
        ends = [start + RAMP_S + DRIVE_S for start in begin]
        self.until(lambda: all(t.last.time >= end for t, end in zip(tracks, ends, strict=True)), "the drive")
        return [track.at(end - DRIVE_S).inverse() @ track.at(end) for track, end in zip(tracks, ends, strict=True)]

    def walk(self, seconds):
        """Robot a walks for a simulated time [s]; returns its speed [m/s] and pace [simulated s per s]."""
        truth = self.operators[0].truth
        begin, since = truth.last.time, time.monotonic()
        self.until(lambda: truth.last.time >= begin + seconds, "the walk")
        pace = (truth.last.time - begin) / (time.monotonic() - since)
        return (truth.at(begin).inverse() @ truth.at(begin + seconds)).x / seconds, pace


def specs(name, **given):
    robot = load("phantomx")
    args = parser("sim").parse_args(
        ["sim", "--namespace", name, "--odometry", "legs"]
    )  # of which the turn is calibrated
    run = cli_run.SimulationRun(args, robot, gaits(robot.robot)["tripod"], WorldSettings(), given)
    return run.specs(Path())


@pytest.fixture(scope="module")
def robots():
    with ExitStack() as stack:
        yield Robots(stack)


def test_a_namespace_gives_a_prefix_to_the_frames():
    for name in ("a", "/a/"):
        found = {spec.executable: spec for spec in specs(name)}
        assert {spec.namespace for spec in found.values()} == {"/a"}
        for executable in ("mujoco_sim", "odometry", "gait_planner"):
            assert found[executable].parameters["tf_frame_prefix"] == "a/"
    assert all("tf_frame_prefix" not in spec.parameters for spec in specs(""))


@pytest.mark.heavy
@pytest.mark.physics
def test_two_robots_follow_different_commands_at_the_same_time(robots):
    robots.stand()
    aside, turned = robots.drive(ASIDE, TURN)
    assert aside.y / DRIVE_S == pytest.approx(ASIDE.vy, rel=0.1)
    assert abs(aside.x) < 0.01 and abs(wrap(aside.yaw)) < 0.025
    assert math.hypot(turned.x, turned.y) < 0.01
    assert MIN_SHARE < wrap(turned.yaw) / DRIVE_S / TURN.wz < MAX_SHARE


@pytest.mark.heavy
@pytest.mark.physics
def test_the_frames_of_two_robots_are_two_trees_and_each_has_its_page(robots, bench):
    received = bench.listen(TFMessage, "/tf", 100)
    wanted = {(f"{n}/odom", f"{n}/base_footprint") for n in NAMES}
    wanted |= {(f"{n}/base_footprint", f"{n}/base_link") for n in NAMES}
    wanted |= {(f"{n}/base_link", f"{n}/left_front_coxa") for n in NAMES}

    def seen():
        return {(t.header.frame_id, t.child_frame_id) for message in received for t in message.transforms}

    bench.until(lambda: seen() >= wanted, MAX_WAIT_S, "the transforms")
    assert all(parent.partition("/")[0] == child.partition("/")[0] for parent, child in seen())
    robots.until(lambda: len(pages(robots)) == 2, "the pages")
    assert len(set(pages(robots))) == 2
    for address in pages(robots):
        assert urllib.request.urlopen(address, timeout=MAX_WAIT_S).status == 200


def pages(robots):
    return [found[1] for line in robots.lines if (found := re.search(r"the page: (http://[\d.]+:\d+/)", line))]


@pytest.mark.heavy
@pytest.mark.physics
def test_a_recording_of_one_robot_does_not_disturb_it_and_has_no_messages_of_the_other(robots, bench, folder):
    """Two recorders join a walk; one cannot write, without effect on the robot; the other writes a bag.

    Robot b, which is told to stand still, does so. The robot walks as fast as commanded in simulated time. A publisher
    that waited for a recorder would delay the whole graph, which makes simulated time pass more slowly than before the
    recording, and than after it.
    """
    robots.stand()
    bad_text, text = folder / "bad.txt", folder / "out.txt"
    other = robots.operators[1].truth
    place = other.last.pose
    robots.operators[0].twist = AHEAD
    _, before = robots.walk(RAMP_S)
    readers = bench.probe.get_subscriptions_info_by_topic

    def recorders(topic):
        return sum(reader.node_name == "recorder" for reader in readers(topic))

    with recording(Path("/proc/bags"), bad_text) as bad, recording(folder / "bags", text) as good:
        topics = ("/a/joint_states", "/a/cmd_vel", "/a/odom")
        robots.until(lambda: all(recorders(topic) == 2 for topic in topics), "the recorders")
        bad.send_signal(signal.SIGINT)
        speed, pace = robots.walk(DRIVE_S)
        for _ in range(MAX_ROUNDS - 1):
            if pace <= MIN_PACE * before:  # a publisher that waits does so in every round
                pace = robots.walk(DRIVE_S)[1]
        robots.until(lambda: bad.poll() is not None, "the end of the recorder")
        assert bad.returncode == 1 and "no bag can be written there" in bad_text.read_text()
        good.send_signal(signal.SIGINT)
        robots.until(lambda: good.poll() is not None, "the end of the recorder")
        assert good.returncode == 0, text.read_text()
    # Only a slow recording is compared with the time after it: the whole computer may have become slower.
    assert pace > MIN_PACE * before or pace > MIN_PACE * robots.walk(DRIVE_S)[1]
    robots.operators[0].twist = ZERO
    assert speed == pytest.approx(AHEAD.vx, rel=0.1) and math.dist(other.last.pose[:2], place[:2]) < 0.01
    assert_records_one_robot(folder)


def assert_records_one_robot(folder):
    """Checks the bag of the walk that two recorders joined."""
    (path,) = (folder / "bags").iterdir()
    with bag_file.open_bag(path) as bag:
        assert {c.topic for c in bag.channels if not c.topic.startswith("/a/")} <= {*GLOBAL}
    run = load_run(path)
    assert run.command[:, 1] == pytest.approx(AHEAD.vx)
    assert run.velocity[:, 1].mean() == pytest.approx(AHEAD.vx, rel=0.1)
    rows = {line[:31].strip(): line[31:].split() for line in compare_runs(run, run).table()}
    assert float(rows["odometry error at end m"][0]) < 0.15
    assert 0.0 < float(rows["joint tracking error rms deg"][0]) < 10.0


@pytest.fixture
def folder(tmp_path_factory):
    """Where the recorders write."""
    return tmp_path_factory.mktemp("recordings")


@contextmanager
def recording(out, text):
    """`hexapod record` of robot a as a process."""
    with text.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "record", "--namespace", "a", "--out", str(out)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(MAX_WAIT_S)


@pytest.mark.heavy
@pytest.mark.physics
def test_requests_to_one_robot_do_not_reach_the_other(robots):
    robots.stand()
    first, second = robots.operators
    first.request_gait("wave")
    robots.until(lambda: first.gait == "wave", "the gait")
    assert second.gait == "tripod"
    first.request("sit")
    robots.until(lambda: first.state == "sinking", "sinking")
    for gait in ("ripple", "tripod"):  # its planner takes requests in the order in which they arrive
        second.request_gait(gait)
        robots.until(lambda gait=gait: second.gait == gait, "the gait")
    assert second.state == "standing" and first.gait == "wave"


@pytest.mark.heavy
@pytest.mark.physics
def test_a_forged_announcement_makes_a_walking_robot_stand_and_obey_stop_and_sit_for_as_long_as_it_is_repeated(
    robots, bench
):
    robots.stand()
    first, other = robots.operators
    forged = NodePresence("/a/gait_planner", "forged", "elsewhere", "m", 7, 0.0, 3600.0)
    publisher = bench.probe.create_publisher(String, "/a/robot_nodes", LATCHED)
    robots.until(lambda: publisher.get_subscription_count() >= 4, "the nodes")
    first.twist = AHEAD
    robots.until(lambda: first.state == "walking", "walking")

    def repeat():
        publisher.publish(String(data=forged.text))
        return True

    robots.until(lambda: repeat() and first.state == "standing", "standing")
    answers = {name: first.request(name) for name in ("stand", "stop", "sit")}
    robots.until(lambda: repeat() and all(answer.success is not None for answer in answers.values()), "the answers")
    assert [answer.success for answer in answers.values()] == [False, True, True]
    assert answers["stand"].answer.startswith("makes way for /a/gait_planner of another robot")
    robots.until(lambda: repeat() and first.state == "sitting", "sitting")
    assert other.state == "standing"
    first.twist, silent = ZERO, time.monotonic()
    robots.until(lambda: time.monotonic() - silent > ANNOUNCED_S + 1.0, "the end of the forgery")
    robots.stand()


@pytest.mark.heavy
@pytest.mark.physics
def test_odometry_is_calibrated_over_the_running_graph(robots, tmp_path, capsys):
    """The factors in the file are the measured distance and turn over those of odom, a little more than asked for."""
    robots.until(lambda: not robots.operators[1].missing(), "robot b")
    robots.supervisors[0].stop()  # robot a is not needed any more
    file = tmp_path / "mine.yaml"
    file.write_text(Path(load("phantomx").path).read_text())
    arguments = ["odom-calibrate", "--robot", str(file), "--namespace", "b", "--distance", "0.2", "--turn", "45"]
    assert main([*arguments, "--measured-distance", "0.3", "--measured-turn", "40"]) == 0, capsys.readouterr()
    robots.supervisors[1].stop()
    distance, turn = odometry_scale(load(file).document)
    assert distance == pytest.approx(0.3 / 0.21, rel=0.1)
    assert turn == pytest.approx(40 / 47, rel=0.1)
    assert len(list(tmp_path.glob("mine.yaml.*.bak"))) == 1
