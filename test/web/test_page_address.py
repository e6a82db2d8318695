# SPDX-License-Identifier: Apache-2.0
"""The addresses of the page on the networks of a robot."""

import subprocess
import sys

import pytest

from hexapod_control.web.page_address import ranked

FOUND = [
    ("lo", "127.0.0.1"),
    ("docker0", "172.17.0.1"),
    ("eth0", "10.0.0.5"),
    ("wlan0", "2001:db8::4"),
    ("wlan0", "fe80::1"),
    ("wlan0", "192.168.4.1"),
]
WIRELESS_FIRST = ["192.168.4.1", "2001:db8::4", "10.0.0.5", "172.17.0.1"]
NETWORKS = """
ip link set lo up
for each in docker0=172.17.0.1/16 eth0=10.0.0.5/24 wlan0=192.168.4.1/24; do
  ip link add ${each%%=*} type veth peer name peer_${each%%=*} || exit 77
  ip addr add ${each#*=} dev ${each%%=*} && ip link set ${each%%=*} up || exit 77
done
exec "$0" -c 'from hexapod_control.web.page_address import addresses; print(*addresses())'
"""


def test_without_a_default_route_the_access_point_of_the_robot_comes_first():
    assert ranked(FOUND, "") == WIRELESS_FIRST


def test_the_address_of_the_default_route_comes_first():
    assert ranked(FOUND, "10.0.0.5") == ["10.0.0.5", "192.168.4.1", "2001:db8::4", "172.17.0.1"]


def test_without_a_network_there_is_no_address():
    assert ranked(FOUND[:1], "") == []


@pytest.mark.process
@pytest.mark.netns
def test_all_interfaces_are_found_in_a_network_without_a_default_route():
    """In a network namespace, as on a robot that is the Wi-Fi access point."""
    command = ["unshare", "--net", "sh", "-c", NETWORKS, sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20.0, check=False)
    assert done.returncode == 0, done.stderr
    found = [address for address in done.stdout.split() if address in WIRELESS_FIRST or address.startswith("127.")]
    assert found == ["192.168.4.1", "10.0.0.5", "172.17.0.1"]
