# SPDX-License-Identifier: Apache-2.0
"""A planner that has to sit down before it ends, and programs whose node cannot start."""

import runpy
import signal
import sys

import pytest
from support.real_time.ros_bench import STEP

from hexapod_control.config.errors import END_SIGNALS
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.announcements import graph_presence


def test_a_planner_that_has_to_sit_down_has_not_stopped_before_it_sits(bench):
    node = bench.planner(sit_on_exit=True)
    node.request_stop()
    while node.planner.state is not RobotState.SITTING:
        assert not node.stopped()
        node.planner.step(STEP)
    node.tick()
    bench.until(node.stopped, 1.0)
    assert bench.planner(False, sit_on_exit=True).stopped()  # nothing is known of its robot


@pytest.fixture
def handlers():
    """Restores the handlers of the signals that end a program."""
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.filterwarnings("ignore:.* found in sys.modules")
@pytest.mark.parametrize(
    ("program", "argument", "words"),
    [
        ("gait_planner", "robot:=nowhere", "nowhere"),
        ("inverse_kinematics", "robot:=nowhere", "nowhere"),
        ("servo_driver", "protocol:=none", "protocol"),
        ("mujoco_sim", "rate:=1.0", "rate must be in"),
        ("odometry", "mode:=wheels", "mode must be one of"),
        ("imu_driver", "rate:=1.0", "rate must be in"),
        ("teleop", "expo:=9.0", "expo must be in"),
        ("gamepad", "deadzone:=9.0", "deadzone must be in"),
        ("web", "port:=70000", "port must be in"),
    ],
)
def test_a_program_whose_node_cannot_start_ends_with_code_2_and_one_sentence(
    monkeypatch, capsys, handlers, program, argument, words
):
    monkeypatch.setattr(graph_presence, "LISTENING_TIME_S", 0.0)
    monkeypatch.setattr(sys, "argv", [program, "--ros-args", "-p", argument])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"hexapod_control.nodes.{program}.{program}", run_name="__main__")
    assert ended.value.code == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert words in sentence
