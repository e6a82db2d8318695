# SPDX-License-Identifier: Apache-2.0
"""What the launch files refuse: by stubs of `launch` everywhere, and with the real one where it is installed."""

import re
import subprocess
import sys

import pytest
from support import launch_stubs

from hexapod_control.bringup.node_graph import GraphError
from hexapod_control.config.shipped_files import share

FILES = ("sim", "bringup", "display", "teleop", "rc", "nav2")
OUTER = """
from launch import LaunchDescription, LaunchService
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

inner = IncludeLaunchDescription(PythonLaunchDescriptionSource({path!r}), launch_arguments={given!r}.items())
service = LaunchService()
# An argument of the outer file, which is not one of the inner.
service.include_launch_description(LaunchDescription([DeclareLaunchArgument("robots", default_value="2"), inner]))
raise SystemExit(service.run())
"""


@pytest.mark.parametrize("name", FILES)
def test_a_launch_file_refuses_an_argument_that_it_does_not_have(monkeypatch, name):
    launch_stubs.install(monkeypatch)
    with pytest.raises(GraphError, match=f"^use_sim_tme: unknown argument of {name}, did you mean use_sim_time"):
        launch_stubs.Include(use_sim_tme="true").start(share("launch", f"{name}.launch.py"))


def test_a_launch_file_leaves_the_settings_of_launch_alone(monkeypatch):
    launch_stubs.install(monkeypatch)
    include = launch_stubs.Include(**{"launch-prefix": "nice", "sigterm_timeout": "9"})
    assert include.start(share("launch", "teleop.launch.py"))


@pytest.mark.process
@pytest.mark.parametrize("name", FILES)
def test_an_included_launch_file_refuses_what_it_was_given_and_not_what_the_outer_file_declares(name):
    pytest.importorskip("launch_ros", reason="only a ROS installation has it")
    program = OUTER.format(path=str(share("launch", f"{name}.launch.py")), given={"namespce": "left"})
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    text = ended.stdout + ended.stderr
    assert re.search(f"namespce: unknown argument of {name}, did you mean namespace", text), text
    assert "robots:" not in text
    assert ended.returncode == 1
