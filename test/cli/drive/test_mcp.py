# SPDX-License-Identifier: Apache-2.0
"""`hexapod mcp` with the official client over stdio: tools and bounds, and a person, a death or a flood in mid-walk."""

import asyncio
import contextlib
import math
import os
import signal
import subprocess
import sys
import time

import mcp
import pytest
from support.real_time.programs import HEXAPOD, SimulationCommand

from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient, SimulationClient
from hexapod_control.config.motion_file import known_motions
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.ros.distribution import stamped_by_default

pytestmark = [pytest.mark.heavy, pytest.mark.physics]

WAIT_S = 60.0  # for anything
REPORTS = {"state", "where_am_i", "faults", "stop"}
MOTIONS = {"walk", "turn", "stand", "sit", "list_motions", "play_motion"}
OPTIONS = ConnectionOptions(stamped=stamped_by_default())
WALKER = """
import asyncio, os, sys
from mcp import Client, StdioServerParameters, stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        while (await client.call_tool("walk", {"forward_m": 1.5})).is_error:
            await asyncio.sleep(0.1)  # the assistant before is still connected

asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def client(*options):
    """The official client of a new server."""
    command, *arguments = [*HEXAPOD, "mcp", *options]
    server = mcp.StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with mcp.Client(mcp.stdio_client(server)) as opened:
        yield opened


async def call(opened, name, /, **arguments):
    """Whether a tool has done it, and what it says."""
    result = await asyncio.wait_for(opened.call_tool(name, arguments), WAIT_S)
    return not result.is_error, result.content[0].text


class Person(RobotClient):
    """A person with a gamepad."""

    source_name = "joystick"


@pytest.fixture(scope="module")
def robot():
    """A simulated robot in a process of its own, and a client that sees how it truly moves."""
    simulation = SimulationCommand("--one-process", "--no-web", "--no-frames", "--stay")
    try:
        with SimulationClient(OPTIONS) as watcher:
            spin(watcher, lambda: watcher.state == "sitting" and not watcher.missing(), "a robot that sits")
            request = watcher.request("stand")
            spin(watcher, lambda: request.success and watcher.state == "standing", "a robot that stands")
            yield watcher
    finally:
        simulation.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            simulation.process.wait(20.0)
        simulation.close()


def spin(watcher, condition, what):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}, the robot is {watcher.state}"
        watcher.spin(0.02)


async def until(watcher, condition, what):
    """As `spin`, and lets other coroutines run."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}, the robot is {watcher.state}"
        watcher.spin(0.01)
        await asyncio.sleep(0.001)


async def at_rest(watcher):
    await until(watcher, lambda: watcher.state == "standing", "the robot to stand")


def test_without_a_permission_the_tools_report_and_stop_and_none_moves_the_robot():
    async def run():
        async with client() as opened:
            assert {tool.name for tool in (await opened.list_tools()).tools} == REPORTS
            done, text = await call(opened, "walk", forward_m=0.1)
            assert not done and "walk" in text
            done, text = await call(opened, "where_am_i")
            assert not done and "is the robot running?" in text

    asyncio.run(run())


def test_a_permitted_assistant_walks_turns_and_comes_back(robot):
    async def run():
        async with client("--allow", "move", "--speed", "0.9") as opened:
            tools = (await opened.list_tools()).tools
            assert {tool.name for tool in tools} == REPORTS | MOTIONS
            assert all(tool.description for tool in tools)
            assert (await call(opened, "list_motions"))[0]
            await until(robot, lambda: len(robot.truth) > 1, "ground truth")
            start = robot.truth.last.pose
            for name, arguments in (("walk", {"forward_m": 0.3}), ("turn", {"degrees": 90.0})):
                asked = asyncio.ensure_future(call(opened, name, **arguments))
                await until(robot, asked.done, name)
                assert asked.result()[0], asked.result()
            moved = start.inverse() @ robot.truth.last.pose
            assert math.dist(moved[:2], (0.3, 0.0)) <= 0.01
            assert math.degrees(moved.yaw) == pytest.approx(90.0, abs=1.8)
            asked = asyncio.ensure_future(call(opened, "walk", forward_m=0.0, left_m=0.3))
            await until(robot, asked.done, "the way back")
            assert math.dist(robot.truth.last.pose[:2], start[:2]) <= 0.02
            assert '"state": "standing"' in (await call(opened, "state"))[1]

    asyncio.run(run())


def test_abusive_calls_exceed_no_limit_and_leave_the_robot_standing(robot):
    bad = [("walk", {"forward_m": value}) for value in (1e9, -1e308, math.nan, math.inf, "0.1", None, [1], {}, True)]
    bad += [("walk", {"forward_m": 4.0}), ("walk", {}), ("walk", {"left_m": 1.0}), ("turn", {"degrees": 1e6})]
    bad += [("play_motion", {"name": name}) for name in ("", "../wave", "/etc/passwd", "wave\x00", "x" * 100_000)]
    bad += [(name, {}) for name in ("arm", "disarm", "estop", "reset", "set_parameter", "__class__", "")]

    async def run():
        async with client("--allow", "move", "--radius", "1.0") as opened:
            await until(robot, lambda: robot.state == "standing", "the robot to stand")
            for name, arguments in bad:
                with contextlib.suppress(mcp.MCPError):
                    done, text = await call(opened, name, **arguments)
                    assert not done, (name, arguments, text)
            walks = [asyncio.ensure_future(call(opened, "walk", forward_m=0.1)) for _ in range(50)]
            states = [asyncio.ensure_future(call(opened, "state")) for _ in range(100)]
            before, fastest = robot.truth.last, 0.0
            while not all(task.done() for task in (*walks, *states)):
                later = before.time + 0.5
                await until(robot, lambda later=later: robot.truth.last.time > later, "half a second")
                now = robot.truth.last
                fastest = max(fastest, math.dist(now.pose[:2], before.pose[:2]) / (now.time - before.time))
                before = now
            assert sum(walk.result()[0] for walk in walks) == 1
            assert all("another motion runs" in walk.result()[1] for walk in walks if not walk.result()[0])
            assert all(state.result()[0] for state in states)
            assert fastest <= 0.5 * 1.2 * robot.maxima.vx
            await at_rest(robot)

    asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_client_that_dies_or_hangs_in_mid_walk_stops_the_robot(robot, number):
    command = [sys.executable, "-c", WALKER, *HEXAPOD, "mcp", "--allow", "move"]
    walker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        spin(robot, lambda: robot.state == "walking" and robot.source == "assistant", "the walk")
        walker.send_signal(number)
        spin(robot, lambda: robot.state == "standing", "the robot to stop")
        place = robot.truth.last
        spin(robot, lambda: robot.truth.last.time > place.time + 1.0, "a second")
        assert robot.state == "standing" and math.dist(robot.truth.last.pose[:2], place.pose[:2]) < 0.01
    finally:
        walker.kill()
        walker.wait()
    spin(robot, lambda: robot.source in ("none", ""), "the end of the server")


def test_a_person_who_drives_or_stops_the_robot_ends_the_walk_and_the_assistant_waits(robot):
    async def walking(opened):
        asked = asyncio.ensure_future(call(opened, "walk", forward_m=1.5))
        await until(robot, lambda: robot.state == "walking" and robot.source == "assistant", "the walk")
        return asked

    async def run():
        async with client("--allow", "move") as opened:
            await at_rest(robot)
            asked = await walking(opened)
            with Person(OPTIONS) as person:
                person.twist = Twist(-0.02, 0.0, 0.0)

                def ended():
                    person.spin(0.02)
                    return asked.done()

                await until(robot, ended, "the end of the walk")
                person.twist = ZERO
            assert (
                asked.result() == (False, asked.result()[1])
                and "a person has taken over: joystick" in asked.result()[1]
            )
            await at_rest(robot)
            done, text = await call(opened, "walk", forward_m=0.1)
            assert not done and "ask the person before you move the robot again" in text
        async with client("--allow", "move") as opened:
            asked = await walking(opened)
            request = robot.request("stop")
            await until(robot, lambda: request.success and asked.done(), "the stop")
            assert not asked.result()[0] and "a person has stopped the robot" in asked.result()[1]
            await at_rest(robot)
            assert not (await call(opened, "turn", degrees=10.0))[0]
            assert (await call(opened, "stop"))[0]

    asyncio.run(run())


def test_of_two_assistants_none_moves_the_robot_and_both_may_stop_it(robot):
    async def run():
        async with client("--allow", "move") as one:
            async with client("--allow", "move") as other:
                for opened in (one, other):
                    end = time.monotonic() + WAIT_S
                    while "another assistant is connected" not in (
                        text := (await call(opened, "turn", degrees=0.0))[1]
                    ):
                        assert time.monotonic() < end, text
                    assert (await call(opened, "stop"))[0]
            end = time.monotonic() + WAIT_S
            while not (answer := await call(one, "turn", degrees=5.0))[0]:
                assert time.monotonic() < end, answer

    asyncio.run(run())


def test_a_motion_is_played_by_its_name_and_a_stop_ends_it(robot):
    async def run():
        async with client("--allow", "move") as opened:
            await at_rest(robot)
            assert "bow" in known_motions()
            asked = asyncio.ensure_future(call(opened, "play_motion", name="bow"))
            await until(robot, lambda: robot.state == "moving" or asked.done(), "the motion")
            assert not asked.done()
            stopped = asyncio.ensure_future(call(opened, "stop"))
            await until(robot, lambda: asked.done() and stopped.done(), "the stop")
            assert stopped.result()[0] and not asked.result()[0]
            await at_rest(robot)

    asyncio.run(run())
