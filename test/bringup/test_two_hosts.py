# SPDX-License-Identifier: Apache-2.0
"""Robot on one host, operator on another: the cable is pulled while it walks and put back; ground truth is recorded.

The hosts are network namespaces, see hosts.py; the robot is the simulated one, with all its nodes.
"""

import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
from support.paths import TEST
from support.real_time.hosts import Cable
from support.real_time.ros_bench import DOWN, LATE, RAMP, TIMEOUT

MAX_WAIT_S = 60.0  # for anything
REDISCOVERY_S = 15.0  # for both sides to find each other again
SPEED_WINDOW_S = 0.3  # over which a speed is measured
REST_S = 1.5  # for which a robot that has stopped is watched
MOVING_SPEED, STILL_SPEED = 0.02, 0.004  # [m/s]
KEYBOARD = "import sys; from hexapod_control.cli.main import main; sys.exit(main())"
PROGRAMS = TEST / "support" / "real_time" / "hosts.py"


class Scene:
    """A robot with recorded ground truth on one host, an operator on the other."""

    def __init__(self, folder):
        self.cable, self.folder = Cable(), folder
        self.processes = []
        self.files = {name: folder / name for name in ("robot", "witness", "operator", "truth")}
        self._seen, self._read, self._requested = [], 0, 0.0

    def open(self):
        self.cable.__enter__()
        self.run(self.cable.robot, "robot", str(PROGRAMS), "robot")
        self.run(self.cable.robot, "witness", str(PROGRAMS), "witness", str(self.files["truth"]))

    def run(self, host, name, *arguments, keys=subprocess.DEVNULL):
        with self.files[name].open("w") as out:
            process = subprocess.Popen(
                host.command(sys.executable, *arguments),
                env=host.environment(),
                stdin=keys,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def end(self, process):
        """Ends one of the programs."""
        self.processes.remove(process)
        process.send_signal(signal.SIGTERM)
        process.wait(MAX_WAIT_S)

    def close(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + MAX_WAIT_S / 2
        for process in self.processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(MAX_WAIT_S)
        self.cable.__exit__()

    @property
    def truth(self):
        """Rows of steady time [s], x, y [m], yaw [rad], gait_state."""
        path = self.files["truth"]
        if path.exists():
            with path.open() as file:
                file.seek(self._read)
                whole = file.read().rpartition("\n")[0]
            if whole:
                self._read += len(whole) + 1
                self._seen += map(json.loads, whole.split("\n"))
        return self._seen

    @property
    def state(self):
        return self.truth[-1][4] if self.truth else ""

    def speed(self, at=math.inf):
        """Mean speed [m/s] over a short interval before a time [s]; NaN if the interval has fewer than two rows."""
        rows = [row for row in self.truth[-200:] if row[0] <= at]
        rows = [row for row in rows if row[0] >= rows[-1][0] - SPEED_WINDOW_S]
        if len(rows) < 2:
            return math.nan
        (t, *here, _, _), (u, *there, _, _) = rows[0], rows[-1]
        return math.dist(here, there) / (u - t)

    def until(self, condition, what, seconds=MAX_WAIT_S):
        """Waits for a condition; returns when it came true [s of the steady time]."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}: {self.texts()}"
            assert all(process.poll() is None for process in self.processes), self.texts()
            time.sleep(0.01)
        return time.monotonic()

    def texts(self):
        """The end of each file."""
        return {name: path.read_text()[-800:] for name, path in self.files.items() if path.exists()}

    def stands_after(self, request):
        """Whether it stands; if it still sits, requests it once a second: services are discovered after topics."""
        now = time.monotonic()
        if self.state == "sitting" and now > self._requested + 1.0:
            self._requested = now
            request()
        return self.state == "standing"

    def walk(self):
        """Waits until it walks steadily."""
        self.until(lambda: self.state == "walking" and self.speed() > MOVING_SPEED, "walking")
        begin = time.monotonic()
        self.until(lambda: time.monotonic() > begin + 1.0 and self.speed() > MOVING_SPEED, "walking on")

    def pull(self, within):
        """Pulls the cable; the robot stops within a time [s], stays at rest, and continues once it is back."""
        speed = self.speed()
        pulled = self.cable.pull()
        try:
            self._assert_stop(pulled, speed, within)
        finally:
            self.cable.plug()  # the next test has the same hosts
        self.until(lambda: self.state == "walking" and self.speed() > MOVING_SPEED, "driving on", REDISCOVERY_S)

    def _assert_stop(self, pulled, speed, within):
        """A robot that walked with a speed [m/s] stops within a time [s] after one, and stays at rest."""
        still = self.until(
            lambda: self.truth[-1][0] > pulled + 0.2 and self.speed() < STILL_SPEED, "standing still", within
        )
        self.until(lambda: self.state == "standing", "its feet down", DOWN + LATE)
        rows = [row for row in self.truth if row[0] >= pulled]
        assert math.dist(rows[0][1:3], rows[-1][1:3]) < speed * within
        self.until(lambda: time.monotonic() > still + REST_S, "time")
        place, *later = [row[1:3] for row in self.truth if row[0] > still]
        assert later and max(math.dist(place, there) for there in later) < STILL_SPEED * REST_S


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = Scene(tmp_path_factory.mktemp("hosts"))
    try:
        scene.open()
        yield scene
    finally:
        scene.close()


@pytest.mark.netns
@pytest.mark.heavy
@pytest.mark.physics
def test_the_keyboard_drives_over_the_cable_and_the_robot_stops_when_it_is_pulled(scene):
    master, slave = pty.openpty()
    keyboard = scene.run(scene.cable.desk, "operator", "-c", KEYBOARD, "keyboard", "--no-stamped", keys=slave)
    try:
        scene.until(lambda: "sitting" in scene.files["operator"].read_text(), "the robot at the operator's")
        scene.until(lambda: scene.stands_after(lambda: os.write(master, b"t")), "standing")
        os.write(master, b"i")
        scene.walk()
        scene.pull(TIMEOUT + RAMP + SPEED_WINDOW_S + LATE)
        os.write(master, b"k")
        scene.until(lambda: scene.state == "standing", "standing")
    finally:
        scene.end(keyboard)
        os.close(master)
        os.close(slave)


@pytest.mark.netns
@pytest.mark.heavy
@pytest.mark.physics
def test_the_page_drives_over_the_cable_and_the_robot_stops_when_it_is_pulled(scene):
    invitation = re.compile(r"invitation for one person: (http\S+)")
    scene.until(lambda: invitation.search(scene.files["robot"].read_text()), "the page")
    url = invitation.search(scene.files["robot"].read_text())[1]
    assert scene.cable.robot.address in url
    visitor = scene.run(scene.cable.desk, "operator", str(PROGRAMS), "page", url)
    try:
        scene.walk()
        scene.pull(TIMEOUT + RAMP + SPEED_WINDOW_S + LATE)
    finally:
        scene.end(visitor)
