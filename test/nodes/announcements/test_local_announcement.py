# SPDX-License-Identifier: Apache-2.0
"""Announcements among the nodes of one computer."""

import os
import pwd
import socket
import subprocess
import sys
from contextlib import ExitStack
from itertools import chain

import pytest

from hexapod_control.nodes.announcements.local_announcement import (
    announce,
    everywhere,
    joins_running_graph,
    reserve,
    running,
)
from hexapod_control.nodes.announcements.node_presence import NodePresence
from hexapod_control.ros.monitoring.graph_identity import machine

PLANNER = NodePresence("/gait_planner", "0123456789ab@900.125", "any host", machine(), 7, 900.125, 5.0)


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "a domain of this file")


def discovered_nodes(*namespaces):
    """Node, graph, machine, process and start of the nodes in these namespaces."""
    return {
        (node.node, node.graph, node.machine, node.process, node.started) for node in chain(*map(running, namespaces))
    }


def announced(*nodes):
    return {(node.node, node.graph, node.machine, node.process, node.started) for node in nodes}


@pytest.mark.parametrize("graph", [PLANNER.graph, ""])
def test_a_node_is_found_as_long_as_it_is_announced(graph):
    planner = PLANNER._replace(graph=graph)
    odometry = planner._replace(node="/odometry", started=0.1 + 0.2)
    assert not running("/")
    with announce(planner):
        with announce(odometry):
            assert discovered_nodes("/") == announced(planner, odometry)
        assert discovered_nodes("/") == announced(planner)
    assert not running("/")


def test_only_nodes_of_the_same_domain_and_namespace_are_found(monkeypatch):
    left, deeper = PLANNER._replace(node="/left/gait_planner"), PLANNER._replace(node="/left/arm/gait_planner")
    with announce(PLANNER), announce(left), announce(deeper):
        assert (discovered_nodes("/"), discovered_nodes("/left"), discovered_nodes("/left/arm")) == tuple(
            map(announced, (PLANNER, left, deeper))
        )
        assert not running("/arm")
        monkeypatch.setenv("ROS_DOMAIN_ID", "another one")
        assert not running("/")


def test_without_a_domain_it_is_domain_0(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "0")
    planner = PLANNER._replace(node="/no_robot_has_this_name/gait_planner")
    with announce(planner):
        monkeypatch.delenv("ROS_DOMAIN_ID")
        assert discovered_nodes("/no_robot_has_this_name") == announced(planner)


def test_the_announcement_of_a_killed_process_ends_with_it():
    code = f"""
from hexapod_control.nodes.announcements.local_announcement import announce
from hexapod_control.nodes.announcements.node_presence import NodePresence
with announce(NodePresence(*{tuple(PLANNER)!r})):
    print("announced", flush=True)
    input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"announced\n"
        assert discovered_nodes("/") == announced(PLANNER)
        process.kill()
    assert not running("/")


def test_two_announcements_with_one_name_and_names_that_are_too_long_do_no_harm():
    long = PLANNER._replace(node=f"/{'n' * 100}")
    with announce(PLANNER), announce(PLANNER), announce(long):
        assert discovered_nodes("/") == announced(PLANNER)


@pytest.mark.parametrize("name", ["hexapod_node", "hexapod_node;a domain of this file;x;1.0;;/a", "other;1;2;3.0;4;/a"])
def test_other_sockets_are_ignored(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(f"\0{name}")
        assert not running("/")


OTHER = PLANNER._replace(graph="ba9876543210@1000.5", process=8, started=1000.5)


def test_of_two_graphs_the_first_one_gets_the_robot_until_it_ends_whatever_their_ages():
    kinematics = OTHER._replace(node="/inverse_kinematics", process=9)
    with ExitStack() as first, ExitStack() as second:
        assert reserve([OTHER], first) is None and reserve([kinematics], second) is None
        assert reserve([PLANNER], second) == OTHER._replace(age=0.0, host=socket.gethostname())
        assert reserve([PLANNER._replace(node="/left/gait_planner")], second) is None
        first.close()
        assert reserve([PLANNER], second) is None


def test_nodes_that_were_started_by_hand_exclude_those_of_the_same_name_only():
    planner, again = PLANNER._replace(graph=""), OTHER._replace(graph="")
    with ExitStack() as stack:
        assert reserve([planner], stack) is None
        assert reserve([again._replace(node="/odometry")], stack) is None
        assert reserve([again], stack).process == planner.process


def test_while_a_graph_runs_whose_reservation_has_ended_another_one_is_refused_and_its_own_nodes_join_it():
    odometry = PLANNER._replace(node="/odometry", process=9)
    with announce(PLANNER), ExitStack() as stack:
        assert joins_running_graph([odometry]) and not joins_running_graph([odometry._replace(graph="")])
        assert not joins_running_graph([PLANNER._replace(process=9)])  # the node itself still runs
        assert reserve([OTHER], stack).node == PLANNER.node


def test_the_nodes_of_all_domains_are_found_with_their_users(monkeypatch):
    here = PLANNER._replace(process=os.getpid(), node="/left/gait_planner")
    with announce(here):
        monkeypatch.setenv("ROS_DOMAIN_ID", "another one")
        (found,) = [each for each in everywhere() if each.presence.process == os.getpid()]
    assert (found.domain, found.presence.namespace) == ("a domain of this file", "/left")
    assert found.user == pwd.getpwuid(os.getuid()).pw_name
    assert not found._replace(presence=PLANNER._replace(process=2**30)).user
