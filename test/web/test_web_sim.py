# SPDX-License-Identifier: Apache-2.0
"""The parameters of the page from the options of `hexapod sim`; nothing is started."""

import argparse
from pathlib import Path

from hexapod_control.cli.main import main
from hexapod_control.cli.sim import sim
from hexapod_control.cli.sim.simulation_run import SimulationRun
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.sim.world_settings import WorldSettings


def page(*arguments):
    """Parameters of the node web, None if it is not started."""
    parser = argparse.ArgumentParser()
    sim.add_arguments(parser)
    robot_file = load("phantomx")
    run = SimulationRun(parser.parse_args(arguments), robot_file, gaits(robot_file.robot)["wave"], WorldSettings(), {})
    specs = {spec.executable: spec for spec in run.specs(Path("record.npz"))}
    return specs["web"].parameters if "web" in specs else None


def test_by_default_the_page_is_served_to_this_machine_only():
    assert page("--port", "0")["lan"] is False
    assert page("--port", "1234")["port"] == 1234
    assert page("--lan")["lan"] is True
    assert page("--no-web") is None
    assert page("--lan", "--certificate", "/c")["certificate"] == "/c"
    assert page("--lan").get("certificate", "") == ""


def test_an_invalid_port_is_bad_input(capsys):
    assert main(["sim", "--port", "70000"]) == 2
    assert "--port: must be in [0, 65535]" in capsys.readouterr().err


def test_the_page_shows_the_robot_that_is_simulated():
    assert page("--robot", "article")["robot"] == "article"
