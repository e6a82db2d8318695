# SPDX-License-Identifier: Apache-2.0
"""Lost legs on a running planner: topics, refusals, velocity limits, and `hexapod leg`."""

import subprocess

from geometry_msgs.msg import Twist as TwistMessage
from std_msgs.msg import String
from support.real_time.programs import HEXAPOD
from support.real_time.ros_bench import walking

from hexapod_control.ros import messages
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED

MAX_WAIT_S = 25.0  # for the robot to come to rest and to fold a leg


def test_a_leg_is_folded_while_walking_and_comes_back_by_the_command_and_the_limits_follow(bench):
    node = bench.planner()
    limits = bench.listen(TwistMessage, "velocity_limits", LATCHED)
    lost, gaits = bench.listen(String, "lost_legs", LATCHED), bench.listen(String, "gaits", LATCHED)
    refused = bench.listen(String, "leg_refused", EVENTS)
    lose = bench.publisher(String, "lose_leg", COMMAND)
    walking(bench, node)
    bench.until(lambda: lost and gaits and limits and limits[-1].linear.x > 0.0)
    usual = limits[-1].linear.x
    assert lost[-1].data == "" and "tripod" in gaits[-1].data
    lose.publish(messages.text("tail"))
    bench.until(lambda: refused and refused[-1].data.startswith("unknown leg 'tail'"))
    lose.publish(messages.text("left_front"))
    bench.until(lambda: node.planner.view.changing_legs, MAX_WAIT_S, "a change of legs")
    assert lost[-1].data == ""
    bench.until(lambda: lost[-1].data == "left_front", MAX_WAIT_S, "folding the leg")
    bench.until(lambda: 0.0 < limits[-1].linear.x < 0.8 * usual and "tripod" not in gaits[-1].data)
    lose.publish(messages.text("left_middle"))
    bench.until(lambda: "do not support the robot" in refused[-1].data, MAX_WAIT_S)
    assert not node.output.last.planted[0]
    back = subprocess.Popen([*HEXAPOD, "leg", "back", "left_front"], stdout=subprocess.PIPE, text=True)
    bench.until(lambda: back.poll() is not None, MAX_WAIT_S, "the end of hexapod leg")
    assert back.returncode == 0 and back.stdout.read().endswith("left_front: unfolded\n")
    assert lost[-1].data == "" and "tripod" in gaits[-1].data
