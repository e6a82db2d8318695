# SPDX-License-Identifier: Apache-2.0
"""Every command compares the result with the request: it ends with code 1 and a sentence if it did not happen."""

import ast
import os
import subprocess
from pathlib import Path

import pytest
from support.real_time.programs import HEXAPOD

from hexapod_control.cli.main import COMMANDS, main
from hexapod_control.cli.servos.servos import ACTIONS

TESTS = Path(__file__).parents[1]
UNTIL_CTRL_C = ("start", "robot", "keyboard", "gamepad", "rc", "mcp")  # what they run is reported while they run
CHECKED = {  # command, or action of `hexapod servos` -> the test in which what was asked for does not happen
    "sim": "cli/sim/test_restarts.py",
    "play": "clients/test_play.py::test_a_refusal_of_the_robot_is_printed_with_line_and_time",
    "leg": "nodes/gait_planner/test_leg_input.py",
    "policy": "nodes/gait_planner/test_policy_input.py::test_targets_with_the_names_of_another_robot_are_refused",
    "status": "cli/drive/test_status.py",
    **dict.fromkeys(("estop", "reset", "arm", "disarm", "stand", "sit", "stop"), "cli/drive/test_request.py"),
    "recover": "nodes/gait_planner/test_mishap_topics.py"
    "::test_the_command_recover_ends_when_the_robot_stands_and_fails_if_it_stays_tilted",
    "emulate": "cli/test_command_results.py::test_a_fault_that_cannot_be_injected_later_fails_at_the_end",
    "servos scan": "cli/servos/test_cli_servos.py::test_a_scan_lists_servos_that_answer_and_those_that_are_missing",
    "servos ping": "cli/servos/test_cli_servos.py::test_a_ping_reports_servos_that_do_not_answer",
    "servos watch": "cli/servos/test_move_results.py::test_a_table_without_an_answer_at_its_end_fails",
    "servos set-id": "cli/servos/test_move_results.py::test_an_id_that_the_servo_does_not_take_fails",
    "servos identify": "cli/servos/test_cli_servos.py::test_one_servo_is_identified_and_the_robot_file_corrected",
    "servos move": "cli/servos/test_move_results.py"
    "::test_a_move_that_has_not_happened_ends_with_code_one_and_what_to_do",
    "servos off": "cli/servos/test_move_results.py"
    "::test_torque_that_is_not_off_is_reported_and_so_are_servos_that_do_not_answer",
    "servos repair": "cli/servos/test_repair.py",
    "i2c": "cli/servos/test_i2c.py",
    "calibrate": "cli/servos/test_calibrate.py"
    "::test_an_abandoned_calibration_leaves_the_file_and_switches_the_torque_off",
    "calibrate-self": "servos/calibration/test_self_calibration.py"
    "::test_a_finding_ends_it_after_the_first_tour_with_the_file_as_it_was",
    "identify": "servos/calibration/test_identification.py"
    "::test_a_servo_that_does_not_move_is_named_and_the_legs_go_back",
    "first": "cli/commissioning/test_first.py::test_commissioning_that_ends_at_any_stage_continues_there",
    "patrol": "clients/test_patroller.py::test_an_unreachable_waypoint_is_abandoned_and_the_gap_width_reported",
    "check": "cli/robot_files/test_check.py::test_a_payload_that_no_servo_carries_is_a_problem",
    "record": "cli/bags/test_record.py::test_a_last_bag_that_cannot_be_written_is_reported_and_ends_with_code_one",
    "dots": "cli/test_command_results.py::test_a_file_that_cannot_be_written_is_a_failure",
    "replay": "cli/bags/test_record.py::test_a_bag_of_which_nothing_can_be_played_fails",
    "twin": "evaluation/test_twin.py::test_a_run_that_cannot_be_repeated_is_refused_in_one_sentence",
    "nav2-check": "evaluation/navigation/test_nav2_check.py",
    "camera-calibrate": "clients/test_camera_survey.py::test_without_a_robot_nothing_is_written",
    "setup": "cli/computer/test_setup.py::test_a_command_of_the_system_that_fails_is_a_failure",
    "doctor": "cli/computer/test_doctor.py",
    "web-cert": "web/test_certificate.py::test_a_certificate_that_cannot_be_made_is_a_failure",
    **dict.fromkeys(
        ("urdf", "mjcf", "import", "new", "gaits", "nav2-params", "walk", "odom-calibrate"),
        "cli/test_command_results.py::test_output_that_cannot_be_written_is_a_failure",
    ),
}


def names_in(path):
    """Names of the tests in a file."""
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_command_has_a_test_in_which_the_result_differs_from_the_request():
    asked = {name for name in COMMANDS if name != "servos"} | {f"servos {name}" for name in ACTIONS}
    assert asked - {*UNTIL_CTRL_C} == set(CHECKED)
    for place in CHECKED.values():
        file, _, name = place.partition("::")
        assert (TESTS / file).exists(), place
        assert not name or name in names_in(TESTS / file), place


@pytest.mark.process
def test_a_fault_that_cannot_be_injected_later_fails_at_the_end(tmp_path):
    words = ["emulate", "--protocol", "feetech_st", "--link", str(tmp_path / "bus"), "--fault", "unplug=99@0.1"]
    process = subprocess.Popen(
        [*HEXAPOD, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while "must be the id of a servo" not in process.stdout.readline():
            assert process.poll() is None
        process.terminate()
        _, errors = process.communicate(timeout=20.0)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "1 of the faults of --fault could not be injected" in errors


@pytest.mark.process
@pytest.mark.parametrize(("words", "buffered"), [(["urdf", "--summary"], True), (["walk", "--seconds", "1"], False)])
def test_output_that_cannot_be_written_is_a_failure(words, buffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*HEXAPOD, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr
    assert not buffered or "the output is not complete: " in done.stderr


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["walk", "--seconds", "1", "--out"], "walk.csv"),
        (["nav2-params", "--out"], "nav2.yaml"),
        (["gaits", "--plot"], "gaits.svg"),
        (["dots", "phantomx", "--output"], "dots.svg"),
    ],
)
def test_a_file_that_cannot_be_written_is_a_failure(words, name, tmp_path, capsys):
    target = tmp_path / name
    target.symlink_to("/dev/full")
    assert main([*words, str(target)]) == 1
    assert "No space left on device" in capsys.readouterr().err


@pytest.mark.process
def test_closed_standard_streams_end_a_dialog_and_a_table_without_a_traceback(tmp_path):
    for words in (["servos", "models"], ["keyboard"], ["new", str(tmp_path / "mine.yaml")]):
        shell = ["bash", "-c", 'exec "$@" <&- >&-', "bash"]
        done = subprocess.run([*shell, *HEXAPOD, *words], stderr=subprocess.PIPE, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert (done.returncode == 0) is (words[0] == "servos"), done.stderr
