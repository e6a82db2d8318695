# SPDX-License-Identifier: Apache-2.0
"""Tests and measurements: their messages stay on this computer, and do not pass through shared memory."""

import os
from pathlib import Path

from hexapod_control.ros.transport.loopback import loopback_environment, private_domain

LOOPBACK = "0100007F"  # 127.0.0.1 in /proc/net/udp
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"


def test_a_participant_binds_the_loopback_address_only_and_shares_no_memory(bench):
    links = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if exists(name)]
    own = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/udp").read_text().splitlines()[1:]]
    addresses = {row[1].split(":")[0] for row in rows if row[9] in own}
    assert bench.probe.count_publishers("/rosout") == 1
    assert addresses == {LOOPBACK}
    assert "/dev/shm/fast" not in Path("/proc/self/maps").read_text()


def exists(name):
    return os.path.lexists(f"/proc/self/fd/{name}")


def test_a_private_domain_ends_with_its_block(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "0")
    monkeypatch.delenv(RANGE)
    monkeypatch.delenv("RMW_IMPLEMENTATION", raising=False)
    with private_domain():
        assert 1 <= int(os.environ["ROS_DOMAIN_ID"]) < 100
        assert loopback_environment().items() <= os.environ.items()
    assert os.environ["ROS_DOMAIN_ID"] == "0" and RANGE not in os.environ


def test_another_middleware_is_restricted_by_its_discovery_range():
    assert loopback_environment({"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}) == {RANGE: "LOCALHOST"}
