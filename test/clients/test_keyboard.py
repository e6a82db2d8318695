# SPDX-License-Identifier: Apache-2.0
"""`hexapod keyboard` in a pseudo-terminal, and the meaning of the keys."""

import contextlib
import os
import signal
import time

import pytest
from geometry_msgs.msg import Pose
from std_msgs.msg import String
from support.real_time.programs import read_line
from support.real_time.teleop_bench import TOP, Robot
from support.real_time.terminal_window import KEYBOARD, LIMIT, Window

from hexapod_control.cli.main import main
from hexapod_control.clients import keyboard_pilot as pilot
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED


@pytest.fixture
def window():
    windows = []

    def begin(command=KEYBOARD, **options):
        windows.append(Window(command, **options))
        return windows[-1]

    yield begin
    for window in windows:
        window.close()


def driving(bench, window, **options):
    """A window with the keyboard driving, the robot, and the velocities it receives."""
    velocities = bench.velocities()
    window = window(**options)
    robot = Robot(bench)
    bench.until(lambda: window.read() or "standing" in window.text, LIMIT, "the status line")
    window.type("i")
    bench.until(lambda: velocities and velocities[-1].linear.x > 0.0, LIMIT, "a velocity")
    return window, robot, velocities


@pytest.mark.process
def test_keys_drive_and_pose_the_robot_and_the_status_line_shows_speed_state_and_source(bench, window):
    window, robot, received = driving(bench, window)
    assert messages.twist(received[-1]) == pytest.approx((0.5 * TOP.vx, 0.0, 0.0))
    source = bench.publisher(String, "command_source", LATCHED)
    source.publish(String(data="keyboard"))
    status = "standing  tripod    x +0.100 y +0.000 m/s  turn +0.00 rad/s  speed  50 %  driven by keyboard"
    bench.until(lambda: window.read() or status in window.text, LIMIT, status)
    poses, gaits, names = bench.listen(Pose, "body_pose"), bench.listen(String, "gait"), bench.listen(String, "driving")
    bench.until(lambda: names and names[-1].data == "keyboard")
    window.type("Jrw\x1b[A2")
    bench.until(lambda: gaits and messages.twist(received[-1]).vy > 0.0, LIMIT)
    pose = messages.body_pose(poses[-1])
    assert gaits[-1].data == "ripple"
    assert (pose.x, pose.z, pose.pitch) == pytest.approx((pilot.SHIFT_M, pilot.SHIFT_M, pilot.TILT_RAD))
    window.type(" ")
    bench.until(lambda: robot.calls == ["stop"] and messages.twist(received[-1]) == ZERO, LIMIT)
    window.type("g")
    bench.until(lambda: robot.calls == ["stop", "sit"], LIMIT)


@pytest.mark.process
def test_an_idle_keyboard_stops_publishing_until_it_drives_again_and_ends_on_sigterm(bench, window):
    """Meanwhile other sources can drive."""
    window, _, received = driving(bench, window)
    window.type("k")
    bench.until(lambda: messages.twist(received[-1]) == ZERO, LIMIT)

    def silent():
        count, until = len(received), time.monotonic() + 0.3
        bench.until(lambda: time.monotonic() > until)
        return len(received) == count

    bench.until(silent, LIMIT)
    window.type("i")
    bench.until(lambda: received[-1].linear.x > 0.0, LIMIT, "a velocity again")
    assert_ends_on(signal.SIGTERM, bench, window, received)


@pytest.mark.process
def test_ctrl_c_while_driving_ends_it_with_a_zero_velocity_code_zero_and_a_restored_terminal(bench, window):
    """SIGTERM has the same effect, see the test before; the system sends SIGHUP in the next two."""
    window, _, received = driving(bench, window)
    assert_ends_on(signal.SIGINT, bench, window, received)


def assert_ends_on(number, bench, window, received):
    assert window.settings != window.before
    window.process.send_signal(number)
    bench.until(lambda: window.process.poll() is not None, LIMIT, "the end")
    bench.until(lambda: messages.twist(received[-1]) == ZERO, 1.0, "a last zero")
    assert window.process.returncode == 0
    assert window.settings == window.before
    window.read()
    assert "Traceback" not in window.text


@pytest.mark.process
def test_a_killed_shell_ends_it_with_a_zero_velocity_and_a_restored_terminal(bench, window):
    window, _, received = driving(bench, window, through_shell=True)
    keyboard = int(read_line(window.process))
    window.process.kill()
    bench.until(lambda: messages.twist(received[-1]) == ZERO, LIMIT, "a last zero")
    window.until(lambda: window.settings == window.before, "the terminal as before")
    window.until(lambda: not os.path.exists(f"/proc/{keyboard}") or gone(keyboard), "the end of the keyboard")


def gone(pid):
    with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.mark.process
def test_closing_the_window_ends_it_with_a_zero_velocity(bench, window):
    window, _, received = driving(bench, window)
    os.close(window.slave)
    os.close(window.master)
    bench.until(lambda: window.process.poll() is not None, LIMIT, "the end")
    bench.until(lambda: messages.twist(received[-1]) == ZERO, 1.0, "a last zero")
    assert window.process.returncode == 0


@pytest.mark.process
def test_a_missing_robot_is_reported(window):
    window = window()
    window.until(lambda: "no robot found" in window.text, "the message")
    window.type("t")
    window.until(lambda: "stand was refused: no node offers the service stand; " in window.text, "the message")


def test_without_a_terminal_it_is_bad_input_in_one_line(capsys, monkeypatch):
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert main(["keyboard"]) == 2
    assert "start it in one" in capsys.readouterr().err


# --- keys -----------------------------------------------------------------------------------------------------


def test_keys_set_directions_speeds_and_requests():
    board = pilot.KeyboardMap(gaits=("tripod", "ripple"))
    top = Twist(0.2, 0.1, 1.0)
    board.press("i")
    assert board.twist(top) == pytest.approx((0.1, 0.0, 0.0))
    board.press("J")
    assert board.twist(top) == pytest.approx((0.0, 0.05, 0.0))
    board.press("q")
    board.press("o")
    assert board.twist(top) == pytest.approx((0.11, 0.0, -0.55))
    assert board.press("2") == "gait ripple"
    assert board.press("3") == ""
    assert board.press("t") == "stand"
    assert board.twist(top) == ZERO
    for key in ("y", "\x1b", "é", "²", "\n", ""):
        assert board.press(key) == ""


def test_the_speed_stays_between_its_bounds():
    board = pilot.KeyboardMap(direction=(1, 0, 0))
    for _ in range(100):
        board.press("q")
    assert board.twist(Twist(0.2, 0.1, 1.0)).vx == pytest.approx(0.2)
    for _ in range(100):
        board.press("z")
    assert board.speed == pilot.MIN_SPEED_SHARE


@pytest.mark.parametrize("key", pilot.POSES)
def test_a_pose_key_moves_one_coordinate_within_bounds_and_x_is_neutral(key):
    board = pilot.KeyboardMap()
    name, step = pilot.POSES[key]
    assert board.press(key) == "pose"
    assert board.pose == NEUTRAL._replace(**{name: step})
    for _ in range(100):
        board.press(key)
    assert abs(getattr(board.pose, name)) == (pilot.MAX_SHIFT_M if name in "xyz" else pilot.MAX_TILT_RAD)
    assert board.press(pilot.LEVEL) == "pose"
    assert board.pose == NEUTRAL


def test_every_direction_key_has_an_opposite():
    ways = {(name, step) for name, step in pilot.POSES.values()}
    assert ways == {(name, -step) for name, step in ways}
    assert set(pilot.DIRECTIONS.values()) == {tuple(-way for way in ways) for ways in pilot.DIRECTIONS.values()}


def test_keys_have_one_meaning_each():
    groups = (
        pilot.DIRECTIONS,
        pilot.SPEEDS,
        pilot.REQUESTS,
        pilot.POSES,
        pilot.LEVEL,
        pilot.GAIT_KEYS,
    )
    every = [key for group in groups for key in group]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("cut", range(1, 9))
def test_arrow_keys_are_decoded_however_they_are_split_and_unknown_sequences_are_ignored(cut):
    text = "\x1b[Ai\x1bOD\x1b[5~"
    board = pilot.KeyboardMap()
    asked = [*board.type(text[:cut]), *board.type(text[cut:])]
    assert asked == ["pose", "pose"]
    assert board.pose == NEUTRAL._replace(x=pilot.SHIFT_M, y=pilot.SHIFT_M)
    assert board.direction == pilot.DIRECTIONS["i"]


def test_escape_alone_swallows_no_key():
    board = pilot.KeyboardMap()
    list(board.type("\x1b"))
    list(board.type("i"))
    assert board.direction == pilot.DIRECTIONS["i"]
