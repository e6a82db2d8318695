# SPDX-License-Identifier: Apache-2.0
"""A gait that is written into the robot file is offered by the running planner, and an invalid file is reported."""

import shutil

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import save_section
from hexapod_control.ros import messages
from hexapod_control.ros.qos import COMMAND, LATCHED

PHASES = {"left_front": 0, "left_middle": 0.333, "left_rear": 0.667, "right_front": 0.333, "right_middle": 0.667}
STROLL = {"stroll": {"duty_factor": 0.7, "lift_off": {**PHASES, "right_rear": 0}}}
MAX_WAIT_S = 25.0  # for the tables of the new gait


def test_a_gait_that_is_saved_is_offered_as_soon_as_the_robot_is_at_rest(bench, tmp_path):
    path = tmp_path / "mine.yaml"
    shutil.copy(load("phantomx").path, path)
    node = bench.planner(robot=str(path))
    gaits = bench.listen(String, "gaits", LATCHED)
    gait = bench.publisher(String, "gait", COMMAND)
    bench.until(lambda: gaits and "stroll" not in gaits[-1].data)
    save_section(path, "gaits", STROLL)
    assert bench.call(Trigger, "reload_gaits").success
    bench.until(lambda: "stroll" in gaits[-1].data, MAX_WAIT_S, "the new gait")
    gait.publish(messages.text("stroll"))
    bench.until(lambda: node.planner.view.selected_gait == "stroll")
    path.write_text("name: nothing")
    assert bench.call(Trigger, "reload_gaits").success
    bench.until(lambda: "gaits" in node.sent_reports, MAX_WAIT_S, "a report")
    assert node.sent_reports["gaits"].text.startswith("reload_gaits refused: ")
    assert "stroll" in gaits[-1].data
