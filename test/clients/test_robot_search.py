# SPDX-License-Identifier: Apache-2.0
"""Why a client finds no robot: robots of this computer are named, other causes listed."""

import getpass
import os
import subprocess
import sys
from functools import partial

import pytest

from hexapod_control.cli.main import main
from hexapod_control.clients import robot_search
from hexapod_control.clients.robot_search import why_no_robot
from hexapod_control.nodes.announcements.local_announcement import announce, everywhere
from hexapod_control.nodes.announcements.node_presence import NodePresence

MINE = NodePresence("/left/gait_planner", "0123456789ab@900.125", "host", "m", os.getpid(), 900.125, 5.0)
OTHER_USER = """
import os
from hexapod_control.nodes.announcements.local_announcement import announce
from hexapod_control.nodes.announcements.node_presence import NodePresence
os.setuid(65534)
with announce(NodePresence("/left/gait_planner", "g@1.0", "host", "m", os.getpid(), 1.0, 5.0)):
    print("announced", flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def own_processes(monkeypatch):
    """The processes whose robots are found; other robots may run beside these tests."""
    processes = {os.getpid()}
    monkeypatch.setenv("ROS_DOMAIN_ID", "77")
    found = partial(filter, lambda node: node.presence.process in processes)
    monkeypatch.setattr(robot_search, "everywhere", lambda: found(everywhere()))
    return processes


def test_without_a_robot_all_possible_causes_are_named_with_the_own_settings(monkeypatch):
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp")
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    text = why_no_robot("")
    assert text.startswith("is one running? e.g. hexapod sim; on this computer none announces itself. ")
    for cause in (
        "ROS_DOMAIN_ID (77 here)",
        "RMW_IMPLEMENTATION (rmw_cyclonedds_cpp here)",
        "ROS_AUTOMATIC_DISCOVERY_RANGE (SUBNET here)",
        "ROS_LOCALHOST_ONLY (0 here)",
        f"user ({getpass.getuser()} here)",
    ):
        assert cause in text


def test_a_robot_in_another_domain_or_namespace_is_named_with_the_remedy(monkeypatch):
    with announce(MINE):
        assert why_no_robot("").endswith("namespace /: give --namespace /left")
        monkeypatch.setenv("ROS_DOMAIN_ID", "78")
        text = why_no_robot("/left")
    assert text.startswith("a robot runs on this computer in ROS_DOMAIN_ID 77 and namespace /left ")
    assert f"(process {os.getpid()} of user {getpass.getuser()})" in text
    assert text.endswith("this program is in ROS_DOMAIN_ID 78 and namespace /left: set ROS_DOMAIN_ID=77")


def test_of_a_robot_that_is_not_heard_the_settings_that_differ_are_named(monkeypatch):
    with announce(MINE):
        monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_zenoh_cpp")  # the process still has its first environment
        text = why_no_robot("/left")
    assert f"one runs on this computer (/left/gait_planner, process {os.getpid()} of user " in text
    assert "RMW_IMPLEMENTATION is rmw_fastrtps_cpp there and rmw_zenoh_cpp here" in text


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a program of another user")
def test_a_robot_of_another_user_is_named_with_its_user(own_processes):
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", OTHER_USER], stdin=pipe, stdout=pipe) as process:
        assert process.stdout.readline() == b"announced\n"
        own_processes.add(process.pid)
        assert f"process {process.pid} of user nobody" in why_no_robot("")
        process.kill()


@pytest.mark.parametrize("node", ["/a b/gait_planner", "gait_planner", "/\x1b[31m/gait_planner"])
def test_a_forged_name_is_not_shown(node):
    with announce(MINE._replace(node=node)):
        assert "none announces itself" in why_no_robot("")


@pytest.mark.process
@pytest.mark.parametrize(
    "command", [("status",), ("recover",), ("leg", "lost", "left_front"), ("play", "--stop"), ("play", "wave")]
)
def test_every_client_that_finds_no_robot_names_the_one_in_another_namespace(command, capsys, monkeypatch):
    monkeypatch.setattr("hexapod_control.clients.fault_clients.DISCOVERY_S", 0.2)
    monkeypatch.setattr("hexapod_control.clients.motion_client.DISCOVERY_S", 0.2)
    with announce(MINE):
        assert main(list(command)) == 1
    assert "give --namespace /left" in capsys.readouterr().err
