# SPDX-License-Identifier: Apache-2.0
"""`hexapod record` and `replay` on real DDS: messages of a robot are written to a bag and published again from it."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist
from rclpy.duration import Duration
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.real_time.programs import PROGRAM

from hexapod_control.bags import bag_file
from hexapod_control.bags.bag_file import BagError
from hexapod_control.cli.main import main
from hexapod_control.config.missing_modules import missing_module
from hexapod_control.nodes.recorder import bag_player, recorder
from hexapod_control.nodes.recorder.bag_player import BagPlayer
from hexapod_control.nodes.recorder.recorder import RecorderNode, RecorderSettings
from hexapod_control.ros import messages
from hexapod_control.ros.qos import COMMAND, LATCHED

MAX_WAIT_S = 30.0  # for anything
FAULT_TOPICS = "/r/gait_state", "/diagnostics"


class Recording:
    """A recorder in namespace /r, and a publisher of joint_states and gait_state there."""

    def __init__(self, bench, out, **settings):
        self.bench, self.out, self.announced = bench, out, []
        self.state = bench.probe.create_publisher(String, "/r/gait_state", LATCHED)
        self.joints = bench.probe.create_publisher(JointState, "/r/joint_states", COMMAND)
        self.diagnostics = bench.probe.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.elsewhere = bench.probe.create_publisher(String, "/other/gait_state", COMMAND)
        self.node = bench.add(
            RecorderNode(RecorderSettings(out=out, **settings), self.announced.append, namespace="/r")
        )
        bench.until(lambda: self.knows("/r/gait_state"), what="the QoS of gait_state")
        mine = (self.state, self.joints, self.diagnostics)
        bench.until(lambda: all(p.get_subscription_count() for p in mine), what="the recorder's subscriptions")

    def knows(self, topic):
        """Whether the recorder has registered a topic as latched."""
        return topic in self.node.channels and self.node.channels[topic].latched

    def report(self, name, level):
        status = DiagnosticStatus(name=name, level=bytes([level]), message="servo 3 is hot")
        self.diagnostics.publish(DiagnosticArray(status=[status]))

    def heard(self, *topics):
        """The number of messages of these topics in the buffer."""
        return sum(message.topic in topics for message in self.node.ring.snapshot())

    def walk(self, count=5):
        for k in range(count):
            before = len(self.node.ring)
            self.joints.publish(JointState(name=["a"], position=[float(k)]))
            self.bench.until(lambda before=before: len(self.node.ring) > before)

    def written(self, count=1):
        """The bags, once `count` of them have been announced."""
        self.bench.until(lambda: len(self.announced) >= count, MAX_WAIT_S, "a bag")
        return sorted(self.out.iterdir())


def test_the_service_writes_the_buffer(bench, tmp_path):
    recording = Recording(bench, tmp_path)
    recording.state.publish(String(data="walking"))
    recording.elsewhere.publish(String(data="not ours"))
    recording.walk()
    answer = bench.call(Trigger, "/r/recorder/save")
    assert answer.success and "requested by the service" in answer.message
    (path,) = recording.written()
    with bag_file.open_bag(path) as bag:
        topics = {channel.topic: channel for channel in bag.channels}
        assert not [topic for topic in topics if topic.startswith("/other")]
        assert topics["/r/gait_state"].latched and not topics["/r/joint_states"].latched
        assert [message.data for _, message in bag.messages("/r/gait_state")] == ["walking"]
        joints = [deserialize_message(data, JointState) for _, _, data in bag.raw({"/r/joint_states"})]
        assert joints == [JointState(name=["a"], position=[float(k)]) for k in range(5)]
        assert abs(1e-9 * bag.start - time.time()) < 60.0


def test_latched_messages_from_before_the_recorder_started_are_in_the_bag(bench, tmp_path):
    late = bench.probe.create_publisher(String, "/r/gaits", LATCHED)
    late.publish(String(data="tripod, wave"))
    recording = Recording(bench, tmp_path)
    bench.until(lambda: any(message.topic == "/r/gaits" for message in recording.node.ring.snapshot()))
    recording.walk()
    recording.node.save("test")
    (path,) = recording.written()
    with bag_file.open_bag(path) as bag:
        assert [message.data for _, message in bag.messages("/r/gaits")] == ["tripod, wave"]


def test_commands_of_a_publisher_that_starts_later_are_recorded(bench, tmp_path):
    bench.probe.create_subscription(Twist, "/r/cmd_vel", lambda message: None, COMMAND)
    recording = Recording(bench, tmp_path)
    bench.until(lambda: "/r/cmd_vel" in recording.node.channels)
    publisher = bench.probe.create_publisher(Twist, "/r/cmd_vel", COMMAND)
    bench.until(lambda: recording.node.channels["/r/cmd_vel"].reliable)
    bench.until(lambda: publisher.get_subscription_count() == 2)
    publisher.publish(Twist())
    bench.until(lambda: any(m.topic == "/r/cmd_vel" for m in recording.node.ring.snapshot()))


def fault_in_state(recording):
    recording.state.publish(String(data="fault"))


def fault_in_diagnostics(recording):
    recording.report("/r/servo_driver", 2)


@pytest.mark.parametrize("fault", [fault_in_state, fault_in_diagnostics])
def test_a_fault_is_recorded_once_with_the_messages_that_follow(bench, tmp_path, monkeypatch, fault):
    monkeypatch.setattr(recorder, "AFTER_FAULT_S", 0.3)
    recording = Recording(bench, tmp_path)
    recording.walk()
    fault(recording)
    fault(recording)
    bench.until(lambda: recording.heard(*FAULT_TOPICS) == 2)
    recording.walk()
    assert bench.until(lambda: recording.announced, MAX_WAIT_S) > 0.05
    (path,) = recording.written()
    with bag_file.open_bag(path) as bag:
        assert len(list(bag.raw({"/r/joint_states"}))) == 10
    fault_in_state(recording)
    fault_in_diagnostics(recording)
    bench.until(lambda: recording.heard(*FAULT_TOPICS) == 4)
    assert len(recording.announced) == 1


def test_a_read_only_folder_is_reported_in_one_line_and_recording_continues(bench, tmp_path):
    recording = Recording(bench, tmp_path)
    recording.node.settings = RecorderSettings(out=Path("/proc/bags"))
    recording.walk()
    answer = bench.call(Trigger, "/r/recorder/save")
    assert not answer.success
    assert re.fullmatch(r"/proc/bags: no bag can be written there: [^\n]*; choose another folder", answer.message)
    assert recording.announced == [answer.message]
    assert recording.node.failed_last and recording.node.last_report("not saved") == answer.message
    bench.call(Trigger, "/r/recorder/save")
    report = recording.node.sent_reports["not saved"]
    assert report.logged == report.when  # every bag that was not written is in the log
    recording.walk()
    recording.node.settings = RecorderSettings(out=tmp_path)
    assert bench.call(Trigger, "/r/recorder/save").success
    (path,) = recording.written(3)
    assert not recording.node.failed_last and recording.node.last_report("saved").startswith(f"written: {path}: ")
    with bag_file.open_bag(path) as bag:
        assert len(list(bag.raw({"/r/joint_states"}))) == 10


def test_an_empty_buffer_is_not_written(bench, tmp_path):
    node = bench.add(RecorderNode(RecorderSettings(out=tmp_path), lambda text: None, namespace="/silent"))
    good, text = node.save("test")
    assert not good and "no message has arrived below /silent/ yet" in text
    assert not list(tmp_path.iterdir())


# --- playing --------------------------------------------------------------------------------------------------


@pytest.fixture
def bag(tmp_path):
    """A short bag of a robot in /r, written without ROS."""
    kinds = {"joint_states": "sensor_msgs/msg/JointState", "cmd_vel": "geometry_msgs/msg/Twist"}
    channels = [bag_file.BagChannel(f"/r/{topic}", kind) for topic, kind in kinds.items()]
    channels.append(bag_file.BagChannel("/r/gait_state", "std_msgs/msg/String", True, True))
    channels += [bag_file.BagChannel(topic, "std_msgs/msg/String") for topic in ("/rosout", "/tf", "/elsewhere/odom")]
    messages = [recorder.RecordedMessage(0, "/r/gait_state", serialize_message(String(data="walking")))]
    for k in range(50):
        joints = JointState(name=["a"], position=[float(k)])
        messages.append(recorder.RecordedMessage(k * 20_000_000, "/r/joint_states", serialize_message(joints)))
        messages.append(recorder.RecordedMessage(k * 20_000_000, "/r/cmd_vel", serialize_message(Twist())))
    bag_file.write(tmp_path / "bag", channels, messages, 1_800_000_000_000_000_000)
    with bag_file.open_bag(tmp_path / "bag") as opened:
        yield opened


def published_by(bench, name):
    """Topics that a node has announced so far, without those of every node."""
    if (name, "/") not in bench.probe.get_node_names_and_namespaces():
        return set()
    topics = {topic for topic, _ in bench.probe.get_publisher_names_and_types_by_node(name, "/")}
    return topics - {"/rosout", "/parameter_events"}


def test_a_bag_is_published_again_in_another_namespace_without_the_commands(bench, bag):
    received, clock = bench.listen(JointState, "/show/joint_states", 50), bench.listen(Clock, "/clock", 200)
    with BagPlayer(bag, "show", "", "yes") as player:
        assert not player.skipped
        bench.until(player.has_subscribers)
        player.check_no_robot()
        ours = {"/show/joint_states", "/show/gait_state", "/tf", "/elsewhere/odom", "/clock"}
        bench.until(lambda: published_by(bench, "player") == ours, what="the discovery of all topics")
        begin = time.monotonic()
        count = player.play(2.0, lambda: bool(bench.executor.spin_once(timeout_sec=0.0)))
        assert time.monotonic() - begin > 0.9 * 0.98 / 2.0
        assert count == 51  # without cmd_vel
        state = bench.listen(String, "/show/gait_state", LATCHED)  # comes late
        bench.until(lambda: state and len(received) == 50)
    assert [message.position[0] for message in received] == [float(k) for k in range(50)]
    assert state[0].data == "walking"
    times = [1e-9 * (messages.nanoseconds(message.clock) - bag.start) for message in clock]
    assert times == sorted(times) and times[0] >= 0.0 and 0.9 < times[-1] <= 0.98


def test_topics_whose_messages_are_not_installed_are_named_and_left_out(bench, bag, monkeypatch):
    installed = bag_player.message_class
    monkeypatch.setattr(bag_player, "message_class", lambda kind: None if "Twist" in kind else installed(kind))
    with BagPlayer(bag, None, "yes", "") as player:
        assert player.skipped == ["/r/cmd_vel (geometry_msgs/msg/Twist)"]
        assert player.play(20.0, lambda: False) == 51


def test_a_bag_without_robot_is_played_where_it_was_with_its_commands_until_it_is_ended(bench, bag):
    received = bench.listen(Twist, "/r/cmd_vel", 50)
    with BagPlayer(bag, None, "yes", "") as player:
        bench.until(player.has_subscribers)
        count = player.play(1.0, lambda: bool(bench.executor.spin_once(timeout_sec=0.0)) or len(received) >= 5)
        assert not bench.probe.count_publishers("/clock")
    assert 5 <= count < 101


def refuses(player):
    try:
        player.check_no_robot()
    except BagError:
        return True
    return False


def test_a_bag_is_not_played_into_a_running_robot(bench, bag):
    node = bench.add(rclpy.create_node("gait_planner", namespace="/r"))
    with BagPlayer(bag, None, "", "") as player, BagPlayer(bag, "show", "", "") as other:
        bench.until(lambda: refuses(player), what="the discovery of gait_planner")
        for begin in (lambda: player.play(1.0, lambda: False), lambda: player.spin(0.05)):
            with pytest.raises(BagError, match="gait_planner runs in /r: a bag is not played to a running robot"):
                begin()
        began = time.monotonic()
        other.spin(0.05)
        assert time.monotonic() - began >= 0.05
        other.check_no_robot()
    bench.remove(node)


# --- the commands ---------------------------------------------------------------------------------------------


def begin(out, *arguments, keys=subprocess.DEVNULL):
    """A subcommand as a process that writes into the file `out`."""
    with out.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=keys,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def result_of(process, out):
    """Output and exit code of a process that ends by itself."""
    try:
        process.wait(MAX_WAIT_S)
    finally:
        process.kill()
    return out.read_text(), process.returncode


def publish_once(bench):
    """Publishes a message that the recorder, once it runs, has received."""
    joints = bench.probe.create_publisher(JointState, "/r/joint_states", COMMAND)
    client = bench.probe.create_client(Trigger, "/r/recorder/save")
    bench.until(lambda: joints.get_subscription_count() and client.service_is_ready(), MAX_WAIT_S, "the recorder")
    joints.publish(JointState())
    assert joints.wait_for_all_acked(Duration(seconds=5.0))


@pytest.mark.process
def test_ctrl_c_and_the_key_write_bags(bench, tmp_path):
    master, slave = pty.openpty()
    process = begin(out := tmp_path / "out.txt", "record", "--namespace", "r", "--out", str(tmp_path), keys=slave)
    try:
        publish_once(bench)
        bench.probe.create_timer(0.5, lambda: os.write(master, b"s"))
        bench.until(lambda: "requested by key" in out.read_text(), MAX_WAIT_S, "a bag by key")
        process.send_signal(signal.SIGINT)
        out, code = result_of(process, out)
        assert code == 0, out
        assert "requested by key" in out and "end of the recording" in out
        assert "Traceback" not in out
    finally:
        process.kill()
        os.close(master)
        os.close(slave)


@pytest.mark.process
def test_a_last_bag_that_cannot_be_written_is_reported_and_ends_with_code_one(bench, tmp_path):
    process = begin(out := tmp_path / "out.txt", "record", "--namespace", "r", "--out", "/proc/bags")
    publish_once(bench)
    process.send_signal(signal.SIGINT)
    out, code = result_of(process, out)
    assert code == 1 and "no bag can be written there" in out and "Traceback" not in out


def test_a_bag_of_which_nothing_can_be_played_fails(bag, monkeypatch, capsys):
    monkeypatch.setattr(bag_player, "message_class", lambda kind: None)
    assert main(["replay", str(bag.path), "--speed", "20"]) == 1
    assert "nothing was played" in capsys.readouterr().err


@pytest.mark.process
def test_replay_shows_the_bag_on_the_page(bench, bag, tmp_path):
    received = bench.listen(JointState, "/r/joint_states", 50)
    process = begin(out := tmp_path / "out.txt", "replay", str(bag.path), "--page", "--speed", "2", "--loop")
    try:
        bench.until(lambda: re.search(r"the page: http\S+\n", out.read_text()), MAX_WAIT_S, "the page")
        address = re.search(r"http://[\d.]+:\d+/", out.read_text())[0]
        assert urllib.request.urlopen(address, timeout=MAX_WAIT_S).status == 200
        bench.until(lambda: any(message.position[0] == 49.0 for message in received), MAX_WAIT_S, "the last message")
        bench.until(lambda: "51 messages, 1.0 s" in out.read_text(), MAX_WAIT_S, "the end of the bag")
        process.send_signal(signal.SIGINT)
        out, code = result_of(process, out)
        assert code == 0, out
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["record", "--seconds", "0"],
            "--seconds: must be in [1, 3600] s, is 0, seconds, not milliseconds?; see hexapod record --help",
        ),
        (
            ["record", "--megabytes", "0"],
            "--megabytes: must be in [1, 16384] MB, is 0, size limit; see hexapod record --help",
        ),
        (
            ["replay", "x", "--speed", "nan"],
            "--speed: must be in [0.05, 20], is nan; see hexapod replay --help",
        ),
        (["replay", "/no/such/bag"], "/no/such/bag: there is no such bag"),
    ],
)
def test_bad_input_ends_with_code_two_and_one_line(capsys, arguments, message):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"hexapod: {message}\n"


def test_without_the_extra_the_message_names_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rosbags", None)
    assert main(["record"]) == 1
    assert capsys.readouterr().err == f"hexapod: {missing_module(ModuleNotFoundError(name='rosbags'))}\n"
