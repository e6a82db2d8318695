# SPDX-License-Identifier: Apache-2.0
"""`hexapod status` and `hexapod recover` in a process of their own, with nodes on real DDS."""

import json
import subprocess
import sys

from support.real_time.ros_bench import overrides

from hexapod_control.cli.drive.status import lines
from hexapod_control.nodes.odometry.odometry import OdometryNode

PROGRAM = """
import sys
from hexapod_control.cli.main import main
assert main(["status", "--json"]) == 0
sys.exit(main(["recover"]))
"""


def test_the_table_shows_every_node_and_below_it_what_is_known_of_the_health():
    nodes = {
        "/odometry": {"level": 0, "message": "ok", "values": {"distance [m]": "12.0", "mode": "legs"}},
        "/gait_planner": {"level": 2, "message": "the robot has fallen", "values": {"state": "fallen"}},
    }
    assert lines(nodes) == [
        "/gait_planner  ERROR    the robot has fallen",
        "/odometry      ok       ok",
        "",
        "state                        fallen",
        "distance [m]                 12.0",
    ]


def test_the_status_of_a_running_robot_is_printed_and_a_robot_that_has_not_fallen_does_not_recover(bench):
    bench.planner()
    bench.add(OdometryNode(parameter_overrides=overrides()))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        bench.until(lambda: process.poll() is not None, 60.0, "the end of both commands")
        out, errors = process.communicate()
    finally:
        process.kill()
        process.wait()
    nodes = json.loads(out)
    assert nodes["/gait_planner"]["values"]["state"] == "standing"
    assert nodes["/odometry"]["values"]["lowest voltage [V]"] == "unknown"
    assert errors == "hexapod: recover: the robot has not fallen: nothing to recover from\n"
    assert process.returncode == 1
