# SPDX-License-Identifier: Apache-2.0
"""All nodes of a robot in one process: unchanged messages, faults, and a hung executor."""

import time

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState, MultiDOFJointState
from support.real_time.frame_tree import FrameTree
from support.real_time.ros_bench import Bench, Stream, twist
from support.real_time.web.web_bench import Loop, Visitor

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.shared_process import ending_order, merged, one_process_reason, parts
from hexapod_control.cli.robot.one_process import nodes
from hexapod_control.ros.transport.handover import Handover

NAMES = {"servo_driver", "inverse_kinematics", "odometry", "gait_planner"}
GIVEN = {"robot": "phantomx", "stand_on_start": "true"}
WITH_PAGE = {**GIVEN, "web": "true", "web_port": "0"}


class CheckedHandover(Handover):
    """Compares every message before and after its delivery."""

    def __init__(self):
        super().__init__()
        self.delivered, self.changed = set(), set()

    def deliver(self, receivers, message, data):
        before = repr(message)
        super().deliver(receivers, message, data)
        self.delivered.add(type(message))
        if repr(message) != before:
            self.changed.add(type(message))


@pytest.fixture(scope="module")
def robot():
    """The bench, the handover and the nodes by name of a robot with loopback servos that walks."""
    bench, handover = Bench(), CheckedHandover()
    made = {node.get_name(): bench.add(node) for node in nodes(node_graph.specs("bringup", WITH_PAGE), handover)}
    planner = made["gait_planner"]
    bench.until(lambda: planner.planner.state.value == "standing", 30.0, "standing")
    stream = Stream(bench, lambda: twist(0.08))
    bench.until(lambda: planner.planner.state.value == "walking", 10.0, "walking")
    yield bench, handover, made
    stream.stop()
    bench.close()


def test_the_nodes_of_a_walking_robot_never_change_a_message_that_was_handed_to_them(robot):
    bench, handover, made = robot
    assert set(made) == NAMES | {"web", "link_frames"}
    bench.spin(1.0)
    assert handover.delivered == {JointState, MultiDOFJointState, DiagnosticArray}
    assert not handover.changed


def test_the_links_of_its_urdf_are_frames_below_odom(robot):
    bench, _, _ = robot
    tree = FrameTree(bench)
    bench.until(tree.whole, what="all links in the frame tree")
    assert len(tree.links) == 2 + 6 * 4


def test_while_the_executor_hangs_the_thread_of_the_driver_makes_the_servos_hold(robot):
    bench, _, made = robot
    driver = made["servo_driver"].driver
    bench.until(lambda: abs(driver.snapshot.velocities).max() > 0.1)
    deadline = time.monotonic() + 5.0
    held = "s while moving: holding the last joint angles"
    while not any(
        "no joint_targets for " in event.text and held in event.text for event in driver.events
    ):  # without a callback in this thread
        assert time.monotonic() < deadline
        time.sleep(0.01)
    bench.until(lambda: made["servo_driver"].last_report("silence"))
    bench.until(lambda: abs(driver.snapshot.velocities).max() > 0.1, what="walking again")


def test_a_fault_in_one_node_sets_the_feet_down_and_names_the_node(robot):
    bench, _, made = robot
    odometry, planner = made["odometry"], made["gait_planner"]
    timer = odometry.create_timer(0.01, lambda: 1 / 0)
    fault = "/odometry: callback <lambda> failed with ZeroDivisionError: "
    bench.until(lambda: fault in odometry.last_report("failed <lambda>"))
    bench.until(lambda: planner.output.last.twist.is_zero and all(planner.output.last.planted), 5.0, "feet down")
    odometry.destroy_timer(timer)


def test_an_emergency_stop_on_the_page_and_its_answer_need_no_executor(robot):
    """It is the last test with this robot, whose torque stays off."""
    bench, _, made = robot
    web, driver, loop = made["web"], made["servo_driver"].driver, Loop()
    page = Visitor(loop, web.server.port, token=web.invitations()[0].rpartition("#")[2])
    bench.until(lambda: page.received("welcome"))
    assert driver.armed
    page.send("request", what="estop")  # from here on, no callback runs in this thread
    page.wait(lambda: driver.latched and not driver.armed)
    page.wait(lambda: [(each["what"], each["ok"]) for each in page.received("answer")] == [("estop", True)])
    page.close()
    loop.close()


def test_the_arguments_of_one_process_describe_all_its_nodes():
    specs = node_graph.specs("bringup", {**GIVEN, "namespace": "left", "cmd_vel": "nav"})
    process = merged(specs)
    assert (process.executable, process.namespace) == ("robot_process", "/left")
    found = parts(process.arguments)
    assert [(p.executable, p.parameters, p.remaps, p.needs) for p in found] == [
        (spec.executable, spec.parameters, spec.remaps, spec.needs) for spec in specs
    ]
    order = [spec.executable for spec in ending_order(found)]
    assert set(order) == NAMES | {"link_frames"}
    assert order[-2:] == ["inverse_kinematics", "servo_driver"]
    assert merged(node_graph.specs("sim")).executable == "sim_process"


@pytest.mark.parametrize(
    ("graph", "given", "memory", "together"),
    [
        ("bringup", "", 1.4, "as this computer has 1.4 GB of memory; one_process:=false starts one for each"),
        ("bringup", "", 7.6, ""),
        ("sim", "true", 16.0, "all nodes run in one process"),
        ("sim", "false", 1.0, ""),
        ("display", "", 1.0, ""),
    ],
)
def test_one_process_is_the_default_on_a_computer_with_little_memory(graph, given, memory, together):
    reason = one_process_reason(graph, {"one_process": given}, memory)
    assert reason.endswith(together)
    assert bool(reason) == bool(together)
