# SPDX-License-Identifier: Apache-2.0
"""`hexapod sim` as a user runs it: the drive, Ctrl-C, a servo bus, the keyboard; no process is left over."""

import os
import pty
import re
import signal
import termios

import numpy as np
import pytest
from support.drives import GAITS
from support.phantomx import robot as phantomx
from support.real_time.programs import MAX_WAIT_S, processes

from hexapod_control.cli.main import main, parser
from hexapod_control.cli.sim import simulation_run
from hexapod_control.cli.sim.simulation_run import TOLERANCES
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import Pose, Twist, exp
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.ros.trajectory_log import TrajectoryLog, TrajectorySample
from hexapod_control.sim.world_settings import WorldSettings

TOGETHER = ("--demo", "--no-web", "--one-process")  # one process needs half of the processor time of four


def ratios(text):
    """Segment names and their ratios in the table."""
    rows = re.findall(r"^(\w[\w ]*?) {2,}(?:-?\d+\.\d+ +){6}([\d./ ]+\d)", text, re.MULTILINE)
    return {name: [float(ratio) for ratio in numbers.split(" / ")] for name, numbers in rows}


@pytest.mark.heavy
@pytest.mark.physics
@pytest.mark.gl
def test_the_demonstration_follows_its_commands_and_leaves_no_process(start, tmp_path):
    film = tmp_path / "run.png"
    command = start(*TOGETHER, "--segment", "1.4", "--record", str(film))
    assert command.end() == 0, command.text
    table = ratios(command.text)
    assert list(table) == ["forward", "arc", "strafe", "turn on the spot"]
    for name, values in table.items():
        assert values == pytest.approx([1.0] * len(values), abs=0.1), (name, command.text)
    turned = float(re.search(r"^odometry error .*, heading (\d+\.\d+) deg$", command.text, re.MULTILINE)[1])
    assert turned <= 1.0  # by the IMU: 0.1 deg/s of its bias at most, and three standard deviations of its drift
    assert film.stat().st_size > 10_000
    assert "Traceback" not in command.text
    assert not processes()


@pytest.mark.heavy
@pytest.mark.physics
def test_a_patrol_over_ground_that_is_seen_ends_at_its_last_waypoint(start, tmp_path):
    route = tmp_path / "route.yaml"
    route.write_text("waypoints: [{x: 0.1, y: 0.0, heading: free}]\ntolerance: 0.05\n")
    command = start(*TOGETHER[1:], "--world", "course", "--depth-camera", "mast", "--waypoints", str(route))
    assert command.end() == 0, command.text
    assert "1 of 1 waypoints reached, at most " in command.text
    assert "Traceback" not in command.text
    assert not processes()


@pytest.mark.heavy
@pytest.mark.physics
def test_over_an_emulated_bus_servo_loads_show_feet_on_the_ground_and_after_a_signal_the_robot_sits(start, bench):
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import MultiDOFJointState

    from hexapod_control.ros.row_messages import FootLayout

    states = gait_states(bench)
    truth = bench.listen(Odometry, "simulator/floating_base_state")
    feet = bench.listen(MultiDOFJointState, "foot_states")
    command = start(*TOGETHER, "--bus", "feetech_st", "--segment", "60")
    bench.until(lambda: truth and truth[-1].pose.pose.position.x > 0.05, MAX_WAIT_S, "a robot that walks")
    bench.until(lambda: feet, MAX_WAIT_S, "loads of its feet")
    forces = np.array([FootLayout(phantomx()).forces(message) for message in feet])
    assert (forces > 0.0).any(axis=1).all()
    assert (set(processes()), states[-1].data) == ({"one_process"}, "walking")
    walked = len(states)
    command.process.send_signal(signal.SIGTERM)
    bench.until(lambda: "sitting" in names(states[walked:]), MAX_WAIT_S, "sitting")
    assert command.end() == 0, command.text
    assert "Traceback" not in command.text
    assert not processes()


@pytest.mark.heavy
@pytest.mark.physics
def test_a_signal_while_the_nodes_start_ends_them(start):
    command = start(*TOGETHER)
    command.wait_for(processes, "the first node")
    command.process.send_signal(signal.SIGTERM)
    assert command.end() == 0, command.text
    assert not processes()


@pytest.mark.heavy
@pytest.mark.physics
def test_with_a_terminal_the_keys_drive_and_after_ctrl_c_the_robot_sits_and_the_terminal_is_as_before(start, bench):
    states = gait_states(bench)
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    try:
        command = start("--one-process", "--speed", "2", keys=slave)
        command.wait_for(lambda: "sitting: press t to stand up" in command.text, "the status line")
        assert re.search(r"In the browser: +http://\S+\r?\n", command.text)
        os.write(master, b"t")
        command.wait_for(lambda: "standing" in command.text, "standing")
        os.write(master, b"2i")
        command.wait_for(lambda: re.search(r"walking +ripple +x \+0\.\d*[1-9]", command.text), "walking in ripple")
        bench.until(lambda: states and states[-1].data == "walking", MAX_WAIT_S, "walking")
        walked = len(states)
        command.process.send_signal(signal.SIGINT)
        bench.until(lambda: "sitting" in names(states[walked:]), MAX_WAIT_S, "sitting")
        assert "sinking" in names(states[walked:])
        assert command.end() == 0, command.text
        assert termios.tcgetattr(slave) == before
    finally:
        os.close(master)
        os.close(slave)
    assert not processes()


def gait_states(bench):
    """Every gait_state from now on, and the last one before."""
    from std_msgs.msg import String

    from hexapod_control.ros.qos import LATCHED

    return bench.listen(String, "gait_state", LATCHED)


def names(states):
    return [state.data for state in states]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--world", "moon"], f"--world must be one of {', '.join(WORLDS)}, is 'moon'"),
        (["--payload", "-1"], "--payload: must be in [0, 20] kg, is -1"),
        (["--servo-model", "rocket"], "--servo-model must be one of ax12, mg90s, "),
        (["--gait", "trot"], f"unknown gait 'trot'; known: {', '.join(GAITS)}"),
        (["--robot", "unknown"], "known: article, "),
        (
            ["--record", "run.mp4"],
            "--record: run.mp4: the name of a film must end in .gif or .png; see hexapod sim --help",
        ),
        (["--record", "/no/such/folder/run.gif"], "its folder does not exist or is not writable"),
        (["--speed", "0"], "--speed: must be in [0.05, 10], is 0"),
        (["--waypoints", "nowhere"], "is not a known route, known: course"),
        (["--segment", "nan"], "--segment: must be in [1.4, 600] s, is nan"),
    ],
)
def test_bad_input_ends_with_code_two_and_one_line_and_starts_nothing(capsys, arguments, message):
    assert main(["sim", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not processes()


# --- the table ------------------------------------------------------------------------------------------------


def track(twist, seconds, rate=50):
    result = TrajectoryLog()
    for index in range(round(seconds * rate) + 1):
        result.add(TrajectorySample(10.0 + index / rate, exp(twist, index / rate), 0.1))
    return result


@pytest.mark.parametrize("twist", [Twist(0.1, 0.0, 0.0), Twist(0.1, 0.0, 0.4), Twist(0.0, 0.0, -1.5)])
def test_the_achieved_twist_matches_the_motion(twist):
    span = simulation_run.DriveSpan(simulation_run.DriveSegment("x", twist), 10.0, 13.6)
    assert simulation_run.achieved(track(twist, 4.0), span, 0.9) == pytest.approx(twist, abs=1e-4)


def test_the_table_is_aligned_and_marks_what_is_wrong():
    good = simulation_run.DriveResult(
        simulation_run.DriveSegment("forward", Twist(0.1, 0.0, 0.0)), Twist(0.101, 0.0, 0.0)
    )
    poor = simulation_run.DriveResult(
        simulation_run.DriveSegment("strafe", Twist(0.0, 0.1, 0.0)), Twist(0.0, 0.092, 0.0)
    )
    bad = simulation_run.DriveResult(
        simulation_run.DriveSegment("a longer name", Twist(0.0, 0.0, 0.5)), Twist(0.0, 0.0, 0.2)
    )
    head, *rows = simulation_run.table([good, poor, bad], TOLERANCES["ideal"])
    assert len({row.index("0.000") for row in rows[1:]}) == 1
    assert rows[0].endswith("1.010")
    assert rows[1].endswith("0.920  outside 0.95-1.05")
    assert rows[2].endswith("0.400  OUTSIDE 0.9-1.1")
    assert head.startswith("segment")


LIMITS = [("ideal", 0.95, 0.9), ("typical", 0.9, 0.8), ("worn", 0.85, 0.7)]


@pytest.mark.parametrize(("reality", "good", "bad"), LIMITS)
def test_a_real_robot_may_deviate_more_than_an_ideal_one(reality, good, bad):
    marks = [TOLERANCES[reality].mark(1.0 - ratio) for ratio in (good + 0.001, good - 0.001, bad - 0.001)]
    assert marks == ["", f"outside {good:g}-{2.0 - good:g}", f"OUTSIDE {bad:g}-{2.0 - bad:g}"]


def test_the_command_simulates_a_robot_with_errors_by_default_and_the_node_an_ideal_one():
    assert parser("sim").parse_args(["sim"]).reality == "typical"
    assert parser("sim").parse_args(["sim", "--reality", "ideal"]).reality == "ideal"
    assert parser("mjcf").parse_args(["mjcf", "phantomx"]).reality == "ideal"
    assert WorldSettings().reality == "ideal"


def test_the_odometry_is_compared_with_the_ground_truth_independent_of_its_origin():
    twist = Twist(0.1, 0.0, 0.4)
    truth, odometry = track(twist, 5.0), TrajectoryLog()
    origin = Pose(3.0, -2.0, 1.0)
    for sample in truth.between(0.0, 100.0):
        odometry.add(sample._replace(pose=origin @ sample.pose))
    error, height = simulation_run.odometry_lines(truth, odometry, 11.0, 14.0)
    assert "0.0 mm = 0.00 % of 0.30 m, heading 0.00 deg" in error
    assert "100.0 mm" in height


@pytest.mark.parametrize("name", ["phantomx", "article"])
@pytest.mark.parametrize("gait", GAITS)
def test_the_drive_commands_no_speed_beyond_robot_and_gait(name, gait):
    robot = load(name).robot
    row = gaits(robot)[gait]
    script = simulation_run.script_for(robot, row)
    capabilities = Capabilities.of(robot)
    for segment in script:
        limit = capabilities.envelope.limit(row, robot.walk.height, 1.0, segment.twist)
        assert limit.twist == segment.twist
    if (name, gait) == ("phantomx", "tripod"):
        assert script == simulation_run.SCRIPT
