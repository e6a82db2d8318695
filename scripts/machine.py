# SPDX-License-Identifier: Apache-2.0
"""Checks what this computer lacks and how to install it; run by the Makefile with any Python 3.

machine.py venv   exits 1 if no virtual environment with ROS can be made
machine.py test   prints what `make test` has to leave out and the markers for pytest -m; REQUIRE_ALL=1: exits 1
"""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys

APT = "on Debian and Ubuntu: apt install"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = "on Debian: apt install chromium-headless-shell, on Ubuntu: apt install chromium-browser"
GL = "libegl1 libopengl0 libgl1-mesa-dri"
RENDER = "import mujoco; mujoco.GLContext(64, 64).make_current()"


def with_ros():
    """Returns True if a ROS installation is sourced and matches this Python."""
    return bool(os.environ.get("ROS_DISTRO")) and importlib.util.find_spec("rclpy") is not None


def venv_gaps():
    """Yields the reasons why the package cannot be installed here, each with its remedy."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        yield f"python3-venv is missing; {APT} python3-venv"
    if sys.version_info < (3, 11):
        yield f"Python {platform.python_version()} is too old, 3.11 or later is needed; make PYTHON=/path/to/python3.12"
    if with_ros():
        return
    source = "source a ROS 2 installation (source /opt/ros/jazzy/setup.bash)"
    if os.environ.get("ROS_DISTRO"):
        yield f"ROS_DISTRO is set, but this Python has no rclpy; make PYTHON=/usr/bin/python3, or {source}"
    elif sys.version_info >= (3, 15):
        yield f"no ROS wheels for Python {platform.python_version()}; make PYTHON=/path/to/python3.12, or {source}"
    if platform.machine() != "x86_64" or sys.platform != "linux":
        yield f"the ROS wheels are for Linux on x86_64, this is {sys.platform} on {platform.machine()}; {source}"


def renders():
    """Returns True if MuJoCo can render without a screen."""
    environment = {"MUJOCO_GL": "egl", **os.environ}
    return subprocess.run([sys.executable, "-c", RENDER], env=environment, capture_output=True).returncode == 0


def namespaces():
    """Returns True if this user may create network namespaces."""
    name = f"hexapod{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return made


def test_gaps():
    """Yields the pytest marker of tests that cannot run here, and what is missing with its remedy."""
    if not all(map(shutil.which, ("cc", "c++"))):
        without = "the benchmark against C and the tests of actions and of GridMap are left out"
        yield "compiler", f"no C and C++ compiler, {without}; {APT} gcc g++"
    if not any(map(shutil.which, BROWSERS)):
        yield "browser", f"no Chromium, the tests of the page in it are left out; {BROWSER}"
    if not renders():
        yield "gl", f"no OpenGL without a screen, tests of --record are left out; {APT} {GL}"
    if shutil.which("ip") is None:
        yield "netns", f"no command ip, the tests of two hosts are left out; {APT} iproute2"
    elif not namespaces():
        yield "netns", "network namespaces are not permitted, the tests of two hosts are left out; be root to have them"


def main():
    """Prints what is missing; the exit code is 1 if a required part is missing."""
    if sys.argv[1] == "venv":
        gaps = list(venv_gaps())
        for gap in gaps:
            print(f"hexapod_control: {gap}", file=sys.stderr)
        return 1 if gaps else 0
    gaps = list(test_gaps())
    for _, gap in gaps:
        print(f"hexapod_control: {gap}", file=sys.stderr)
    print(" and ".join(f"not {marker}" for marker, _ in gaps))
    if gaps and os.environ.get("REQUIRE_ALL") == "1":
        print("hexapod_control: REQUIRE_ALL=1, so each of these is a failure", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
