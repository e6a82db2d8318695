# SPDX-License-Identifier: Apache-2.0
"""A request that was accepted and changes nothing is explained, with real nodes on DDS."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.phantomx import robot
from support.real_time.ros_bench import overrides

from hexapod_control.config.shipped_files import share
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import JointLayout

TIBIA = "tibia: {lower_deg: -165.0,"
NARROW = "tibia: {lower_deg: -130.0,"  # with which the robot can stand, but not lie


@pytest.mark.parametrize(
    ("narrow", "cause"),
    [(True, "inverse_kinematics reports: "), (False, "the joints do not follow their targets: ")],
    ids=["kinematics with narrower limits", "a driver that does not follow"],
)
def test_a_request_that_changes_nothing_for_two_seconds_is_explained(bench, tmp_path, narrow, cause):
    text = share("config", "robots", "phantomx.yaml").read_text()
    other = tmp_path / "phantomx.yaml"
    assert TIBIA in text
    other.write_text(text.replace(TIBIA, NARROW) if narrow else text)
    planner = bench.planner(on_its_feet=False)
    bench.add(InverseKinematicsNode(parameter_overrides=overrides(robot=str(other))))
    lying = np.array(Planner(robot()).view.lying_joints)
    message = JointLayout(robot()).message(lying, None, messages.time(0))
    joints = bench.publisher(JointState, "joint_states", matched=2)
    bench.probe.create_timer(0.04, lambda: joints.publish(message))
    bench.until(lambda: planner.planner.state is RobotState.SITTING)
    assert bench.call(Trigger, "stand").success
    assert bench.until(lambda: planner.last_report("request without effect"), 6.0) > 1.5
    report = planner.last_report("request without effect")
    assert report.startswith(f"stand was accepted 2 s ago, but the robot does not move: {cause}")
    assert not narrow or "left_middle" in report
