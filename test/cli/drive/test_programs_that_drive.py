# SPDX-License-Identifier: Apache-2.0
"""`hexapod mcp` with the official client, and `hexapod policy run`, on one simulated robot.

Tools and bounds, abuse, a person, a death or a flood in mid-walk.
"""

import asyncio
import contextlib
import http.client
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import mcp
import numpy as np
import pytest
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import String
from support.paths import ROOT
from support.real_time.programs import HEXAPOD, SimulationCommand, until
from support.suite.soak import some

from hexapod_control.cli.drive.assistant_tools import server
from hexapod_control.clients.assistant import Assistant, AssistantLimits, Permission
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient, SimulationClient
from hexapod_control.config.policy_file import Layer, description, save
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_approval import ANSWER_TOPIC, REQUEST_TOPIC, MotionRequest, answer_text
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.qos import DISPLAY

pytestmark = [pytest.mark.heavy, pytest.mark.physics]

WAIT_S = 60.0  # for anything
SPEED = 0.9  # share of the largest
RADIUS_M = 1.0
DRIFT_M = 0.05  # of odometry, and way of a stop
REPORTS = {"state", "where_am_i", "what_do_you_see", "camera_image", "faults", "stop"}
MOTIONS = {"walk", "turn", "pose", "stand", "sit", "list_motions", "play_motion"}
OPTIONS = ConnectionOptions(stamped=stamped_by_default())
ABUSE = json.loads((ROOT / "test" / "data" / "abusive_calls.json").read_text(encoding="utf-8"))
WALKER = """
import asyncio, os, sys, mcp

async def main():
    where = sys.argv[1]
    if not where.startswith("http"):
        where = mcp.stdio_client(mcp.StdioServerParameters(command=where, args=sys.argv[2:], env=dict(os.environ)))
    async with mcp.Client(where) as client:
        while (await client.call_tool("walk", {"forward_m": 1.5})).is_error:
            await asyncio.sleep(0.1)  # the assistant before is still connected

asyncio.run(main())
"""


class Client:
    """The official client of one server, in a thread of its own: calls return futures."""

    def __init__(self, *options, url=""):
        command, *arguments = [*HEXAPOD, "mcp", *options]
        server = mcp.StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        self._where = url or mcp.stdio_client(server)
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._opened = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._thread.start()
        assert self._opened.wait(WAIT_S)

    async def _run(self):
        async with mcp.Client(self._where) as self._client:
            self._opened.set()
            await self._closing.wait()

    def begin(self, name, /, **arguments):
        """The future of whether a tool has done it, and what it says."""

        async def call():
            try:
                result = await self._client.call_tool(name, arguments)
            except mcp.MCPError as error:
                return False, str(error)
            return not result.is_error, getattr(result.content[0], "text", result.content[0].type)

        return asyncio.run_coroutine_threadsafe(call(), self._loop)

    def call(self, name, /, **arguments):
        return self.begin(name, **arguments).result(WAIT_S)

    def tools(self):
        return asyncio.run_coroutine_threadsafe(self._client.list_tools(), self._loop).result(WAIT_S).tools

    def read(self, uri):
        reading = asyncio.run_coroutine_threadsafe(self._client.read_resource(uri), self._loop)
        return reading.result(WAIT_S).contents[0].text

    def close(self):
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(WAIT_S)


class Person(RobotClient):
    """A person with a gamepad, who also answers what an assistant asks, and whose camera shows a picture."""

    source_name = "joystick"

    def __init__(self, options):
        super().__init__(options)
        self.allows = True
        self.asked = []
        self.answers = self._node.create_publisher(String, ANSWER_TOPIC, 10)
        self.images = self._node.create_publisher(CompressedImage, "image_raw/compressed", DISPLAY)
        self._node.create_subscription(String, REQUEST_TOPIC, self._answer, 10)

    def _answer(self, message):
        request = MotionRequest.parse(message.data)
        self.asked.append((request.motion, dict(request.values)))
        self.answers.publish(String(data=answer_text("another", allowed=True)))
        self.answers.publish(String(data=answer_text(request.id, allowed=self.allows)))


@pytest.fixture(scope="module")
def robot():
    """A simulated robot in a process of its own, and a client that sees how it truly moves."""
    simulation = SimulationCommand("--one-process", "--no-web", "--stay")
    try:
        with SimulationClient(OPTIONS) as watcher:
            spin(watcher, lambda: watcher.state == "sitting" and not watcher.missing(), "a robot that sits")
            request = watcher.request("stand")
            spin(watcher, lambda: request.success and watcher.state == "standing", "a robot that stands")
            spin(watcher, lambda: len(watcher.truth) > 1, "ground truth")
            yield watcher
    finally:
        simulation.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            simulation.process.wait(20.0)
        simulation.close()


@pytest.fixture(scope="module")
def assistant(robot):
    """The client of an assistant that may walk a metre far, as the only one."""
    opened = Client("--allow", "move", "--speed", str(SPEED), "--radius", str(RADIUS_M))
    opened.home = robot.truth.last.pose
    yield opened
    opened.close()


def spin(watcher, condition, what):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}, the robot is {watcher.state}"
        watcher.spin(0.02)


def done(robot, asked, what):
    """What a call has answered, when it has."""
    spin(robot, asked.done, what)
    return asked.result()


def at_rest(robot):
    spin(robot, lambda: robot.state == "standing", "the robot to stand")


def place_at_rest(robot):
    """True pose of a robot that has stopped: what the watcher reads may be behind what a call has answered."""
    seen = [robot.truth.last]

    def rests():
        if robot.truth.last.time > seen[-1].time + 0.3:
            seen.append(robot.truth.last)
        return len(seen) > 1 and math.dist(seen[-1].pose[:2], seen[-2].pose[:2]) < 1e-3

    spin(robot, rests, "the robot to rest")
    return seen[-1].pose


def test_without_a_permission_the_tools_report_and_stop_and_none_moves_the_robot():
    async def run(assistant):
        offered = server(assistant)
        assert {tool.name for tool in await offered.list_tools()} == REPORTS
        for name, words in (
            ("where_am_i", "is the robot running"),
            ("what_do_you_see", "the robot is blind"),
            ("camera_image", "has the robot a camera"),
        ):
            with pytest.raises(Exception, match=words):
                await offered.call_tool(name, {})

    with Assistant(OPTIONS, AssistantLimits(), Permission.READ) as alone:
        asyncio.run(run(alone))


def test_a_permitted_assistant_walks_turns_and_comes_back(robot, assistant):
    tools = assistant.tools()
    assert {tool.name for tool in tools} == REPORTS | MOTIONS
    assert all(tool.description for tool in tools)
    assert "<robot" in assistant.read("hexapod://robot") and "hexapod" in assistant.read(
        "hexapod://docs/troubleshooting"
    )
    start = robot.truth.last.pose

    def carry_out(name, arguments):
        answer = done(robot, assistant.begin(name, **arguments), name)
        assert answer[0], answer
        return place_at_rest(robot)

    carry_out("walk", {"forward_m": 0.3})
    moved = start.inverse() @ carry_out("turn", {"degrees": 90.0})
    assert math.dist(moved[:2], (0.3, 0.0)) <= 0.01
    assert math.degrees(moved.yaw) == pytest.approx(90.0, abs=1.8)
    back = carry_out("walk", {"forward_m": 0.0, "left_m": 0.3})
    assert math.dist(back[:2], start[:2]) <= 0.02
    assert '"state": "standing"' in assistant.call("state")[1]


def test_abusive_calls_are_refused_and_move_nothing(robot, assistant):
    at_rest(robot)
    assert len(ABUSE) >= 50
    place = robot.truth.last.pose
    asked = [(name, arguments, assistant.begin(name, **arguments)) for name, arguments in ABUSE]
    asked.append(("play_motion", "long", assistant.begin("play_motion", name="x" * 100_000)))
    for name, arguments, call in asked:
        answer = done(robot, call, name)
        assert not answer[0], (name, arguments, answer)
        assert len(answer[1]) < 2000, (name, arguments)
    assert robot.state == "standing" and math.dist(robot.truth.last.pose[:2], place[:2]) < 0.002


def test_of_a_flood_of_motions_one_is_carried_out_and_within_its_speed(robot, assistant):
    at_rest(robot)
    walks = [assistant.begin("walk", forward_m=0.1) for _ in range(50)]
    states = [assistant.begin("state") for _ in range(100)]
    before = robot.truth.last
    fastest = 0.0
    while not all(call.done() for call in (*walks, *states)):
        spin(robot, lambda later=before.time + 0.5: robot.truth.last.time > later, "half a second")
        now = robot.truth.last
        fastest = max(fastest, math.dist(now.pose[:2], before.pose[:2]) / (now.time - before.time))
        before = now
    assert sum(call.result()[0] for call in walks) == 1
    assert all("another motion runs" in call.result()[1] for call in walks if not call.result()[0])
    assert all(call.result()[0] for call in states)
    assert fastest <= SPEED * 1.2 * robot.maxima.vx
    at_rest(robot)


def script(seed):
    """Calls of a hasty or hostile assistant, each with the seconds to its next one; inf: it waits for the answer."""
    rng = np.random.default_rng(seed)

    def call():
        kind = rng.integers(10)
        if kind < 3:
            return ABUSE[rng.integers(len(ABUSE))]
        return [
            ("walk", {"forward_m": rng.uniform(-1.5, 1.5), "left_m": rng.uniform(-0.5, 0.5)}),
            ("walk", {"forward_m": rng.uniform(-0.2, 0.2)}),
            ("turn", {"degrees": rng.uniform(-200.0, 200.0)}),
            ("play_motion", {"name": rng.choice(["bow", "wave", "nothing"])}),
            ("sit", {}),
            ("stand", {}),
            ("stop", {}),
        ][kind - 3]

    calls = [(*call(), rng.choice([0.0, 0.3, 2.0, math.inf])) for _ in range(6)]
    return calls + calls[:2] * int(rng.integers(2))  # replayed


@pytest.mark.parametrize("seed", some(range(50), 0))
def test_no_script_of_an_assistant_exceeds_a_limit_and_the_robot_stands_after_it(seed, robot, assistant):
    at_rest(robot)
    spin(robot, lambda: robot.maxima.vx > 0.0, "the limits")
    fastest = SPEED * 1.2 * robot.maxima.vx
    before = robot.truth.last
    for name, arguments, pause in script(seed):
        asked = assistant.begin(name, **arguments)
        end = time.monotonic() + min(pause, 5.0)
        while time.monotonic() < end and not (pause == math.inf and asked.done()):
            robot.spin(0.02)
            now = robot.truth.last
            if now.time > before.time + 0.5:
                assert math.dist(now.pose[:2], before.pose[:2]) <= fastest * (now.time - before.time)
                assert math.dist(now.pose[:2], assistant.home[:2]) <= RADIUS_M + DRIFT_M
                before = now
    answer = done(robot, assistant.begin("stop"), "the stop")
    assert answer[0], answer
    if robot.state in ("sitting", "sinking", "rising"):  # a stop ends these half-way, too
        assert done(robot, assistant.begin("stand"), "standing up")[0]
    at_rest(robot)


def test_the_body_is_posed_as_far_as_the_legs_allow_and_stays_where_a_stop_ends_it(robot, assistant):
    at_rest(robot)
    height = lambda: robot.truth.last.height  # noqa: E731
    before = height()
    answer = done(robot, assistant.begin("pose", up_m=0.02, pitch_deg=5.0), "the pose")
    assert answer == (True, "the body is 0.020 m up, roll 0.0 deg, pitch 5.0 deg, yaw 0.0 deg")
    assert "as far as the legs allow" in done(robot, assistant.begin("pose", up_m=-0.2), "the lowest pose")[1]
    asked = assistant.begin("pose", up_m=0.2)
    assert not asked.done() and done(robot, assistant.begin("stop"), "the stop")[0]
    assert not done(robot, asked, "the end of the pose")[0]
    assert done(robot, assistant.begin("pose"), "the neutral pose")[0]
    assert height() == pytest.approx(before, abs=0.003)


def test_a_motion_is_played_by_its_name_and_a_stop_ends_it(robot, assistant):
    at_rest(robot)
    assert "bow" in assistant.call("list_motions")[1]
    asked = assistant.begin("play_motion", name="bow")
    spin(robot, lambda: robot.state == "moving" or asked.done(), "the motion")
    assert not asked.done()
    assert done(robot, assistant.begin("stop"), "the stop")[0]
    assert not done(robot, asked, "the end of the motion")[0]
    at_rest(robot)


def test_over_http_of_two_assistants_none_moves_the_robot_and_both_may_stop_it(robot, assistant):
    with serving() as url:
        other = Client(url=url)
        for opened in (assistant, other):
            until(lambda opened=opened: "another assistant" in opened.call("turn", degrees=0.0)[1], "a refusal", WAIT_S)
            answer = opened.call("stop")
            assert answer[0], answer
        other.close()
        page = (
            "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\r\n{}"
        )
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2].partition("/")[0]))) as web:
            web.sendall(page.encode())
            assert b" 421 " in web.recv(100) or b" 403 " in web.recv(100)  # of a web page elsewhere
    until(lambda: assistant.call("turn", degrees=5.0)[0], "a turn", WAIT_S)
    at_rest(robot)


def test_a_person_who_drives_ends_the_walk_and_the_assistant_waits(robot, assistant):
    at_rest(robot)
    asked = assistant.begin("walk", forward_m=-0.9)
    spin(robot, lambda: robot.state == "walking" and robot.source == "assistant", "the walk")
    with Person(OPTIONS) as person:
        person.twist = Twist(-0.02, 0.0, 0.0)

        def ended():
            person.spin(0.02)
            return asked.done()

        spin(robot, ended, "the end of the walk")
        person.twist = ZERO
    assert not asked.result()[0] and "a person has taken over: joystick" in asked.result()[1]
    at_rest(robot)
    moved, text = assistant.call("walk", forward_m=0.1)
    assert not moved and "ask the person before you move the robot again" in text


def test_an_assistant_that_has_to_ask_sees_at_once_but_moves_only_when_a_person_has_permitted_it(robot, assistant):
    at_rest(robot)
    assistant.close()
    opened = Client("--allow", "ask", "--seconds", "20")
    try:
        with Person(OPTIONS) as person:

            def answer(name, **arguments):
                asked = opened.begin(name, **arguments)
                until(lambda: person.spin(0.02) or asked.done(), f"the end of {name}", WAIT_S)
                return asked.result()

            image = opened.begin("camera_image")

            def seen():
                person.images.publish(CompressedImage(format="jpeg", data=b"picture"))
                person.spin(0.02)
                return image.done()

            until(seen, "an image", WAIT_S)
            assert not person.asked
            until(lambda: answer("turn", degrees=20.0)[0], "a turn", WAIT_S)
            assert person.asked[-1] == ("turn", {"degrees": 20.0})
            place = robot.truth.last.pose
            person.allows = False
            moved, text = answer("walk", forward_m=0.3)
            assert not moved and "has refused the motion" in text
            assert person.asked[-1] == ("walk", {"forward": 0.3, "left": 0.0})
            stops(robot)
            assert math.dist(robot.truth.last.pose[:2], place[:2]) < 0.02
            moved, text = answer("walk", forward_m=0.3)
            assert not moved and "ask the person" in text
    finally:
        opened.close()


@contextlib.contextmanager
def serving():
    """The address of a server over HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*HEXAPOD, "mcp", "--allow", "move", "--http", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        url = process.stderr.readline().strip()
        until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the server listens", WAIT_S)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_S)
        process.stderr.close()


@contextlib.contextmanager
def walker(*where):
    """A client of its own that walks."""
    process = subprocess.Popen(
        [sys.executable, "-c", WALKER, *where], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def stops(robot):
    """Waits until the robot stands where it is; meanwhile its feet may return to neutral."""
    at_rest(robot)
    place = robot.truth.last
    spin(robot, lambda: robot.state == "standing" and robot.truth.last.time > place.time + 2.0, "the robot to stand")
    assert math.dist(robot.truth.last.pose[:2], place.pose[:2]) < 0.01


def walk_of_an_older_protocol(url):
    """The connection of a call of walk, by a protocol in which closing it does not cancel the call."""
    version = "2025-06-18"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def post(**body):
        connection = http.client.HTTPConnection(url.split("/")[2])
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **body}), headers)
        return connection

    about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    answer = post(id=1, method="initialize", params=about).getresponse()
    headers |= {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "Mcp-Protocol-Version": version}
    post(method="notifications/initialized").getresponse().read()
    return post(id=2, method="tools/call", params={"name": "walk", "arguments": {"forward_m": -1.0}})


def ends_with(robot, process, number):
    """Sends a signal to the client of a long walk: the robot stops long before its end."""
    place = robot.truth.last.pose
    process.send_signal(number)
    stops(robot)
    assert math.dist(robot.truth.last.pose[:2], place[:2]) < 0.3


def test_a_client_that_dies_or_hangs_or_a_person_who_stops_the_robot_ends_the_walk(robot, assistant):
    for number in (signal.SIGKILL, signal.SIGSTOP):
        with walker(*HEXAPOD, "mcp", "--allow", "move") as process:
            spin(robot, lambda: robot.state == "walking" and robot.source == "assistant", "the walk")
            ends_with(robot, process, number)
        spin(robot, lambda: robot.source in ("none", ""), "the end of the server")
    with serving() as url:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            with walker(url) as process:
                spin(robot, lambda: robot.state == "walking" and robot.source == "assistant", "the walk over HTTP")
                ends_with(robot, process, number)
        call = walk_of_an_older_protocol(url)
        spin(robot, lambda: robot.state == "walking", "the walk of an older client")
        place = robot.truth.last.pose
        call.close()
        stops(robot)
        assert math.dist(robot.truth.last.pose[:2], place[:2]) < 0.3
        opened = Client(url=url)
        asked = opened.begin("walk", forward_m=-0.5)
        spin(robot, lambda: robot.state == "walking" or asked.done(), "a walk")
        request = robot.request("stop")
        spin(robot, lambda: request.success and asked.done(), "the stop")
        assert not asked.result()[0] and "a person has stopped the robot" in asked.result()[1]
        at_rest(robot)
        opened.close()


def test_a_policy_walks_as_a_person_commands_until_somebody_stops_it(robot, tmp_path):
    machine = load("phantomx").robot
    metadata = description(machine, "walk", 0.02)
    inputs = sum(int(part.split()[-1]) for part in metadata["observation"].split(","))
    save(tmp_path / "blind.onnx", [Layer(np.zeros((24, inputs)), np.zeros(24))], metadata)
    at_rest(robot)
    command = [*HEXAPOD, "policy", "run", str(tmp_path / "blind.onnx")]
    policy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        spin(robot, lambda: robot.state == "moving" or policy.poll() is not None, "the policy")
        start = robot.truth.last.pose
        robot.twist = Twist(-0.1, 0.0, 0.0)
        spin(robot, lambda: (start.inverse() @ robot.truth.last.pose).x < -0.15, "15 cm backwards")
        robot.twist = ZERO
        request = robot.request("stop")
        spin(robot, lambda: request.success and policy.poll() is not None, "the stop")
        assert policy.returncode == 1 and "another request" in policy.stderr.read()
        stops(robot)
    finally:
        policy.kill()
        policy.wait()
        policy.stderr.close()


def test_a_policy_that_diverges_ends_in_one_sentence_and_the_robot_stands(robot, tmp_path):
    metadata = description(load("phantomx").robot, "walk", 0.02)
    inputs = sum(int(part.split()[-1]) for part in metadata["observation"].split(","))
    signs = np.where(np.arange(24 * inputs).reshape(24, inputs) % 2, -1.0, 1.0)
    save(tmp_path / "wild.onnx", [Layer(3e38 * signs, np.zeros(24)), Layer(-np.eye(24), np.zeros(24))], metadata)
    at_rest(robot)
    command = [*HEXAPOD, "policy", "run", str(tmp_path / "wild.onnx")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    assert ended.returncode == 1 and "24 finite numbers" in ended.stderr and "Traceback" not in ended.stderr
    stops(robot)
