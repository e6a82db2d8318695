"""What `hexapod sim` makes of its options for the page; nothing is started."""

import argparse
import contextlib
import socket
from pathlib import Path

from hexapod_control.cli.main import main
from hexapod_control.cli.sim import sim
from hexapod_control.cli.sim.simulation_run import SimulationRun
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.gait.gait_table import gaits
from hexapod_control.nodes.web.settings import WebSettings
from hexapod_control.sim.world_settings import WorldSettings


def page(*words):
    """Parameters of the node web, None if it is not started."""
    parser = argparse.ArgumentParser()
    sim.add_arguments(parser)
    robot_file = load("phantomx")
    run = SimulationRun(
        parser.parse_args(words), robot_file, gaits(robot_file.robot.leg_names)["wave"], WorldSettings(), {}
    )
    specs = {spec.executable: spec for spec in run.specs(Path("record.npz"))}
    return specs["web"].parameters if "web" in specs else None


def test_the_page_is_there_for_this_machine_unless_told_otherwise():
    assert page("--port", "0")["lan"] is False
    assert page("--port", "1234")["port"] == 1234
    assert page("--lan")["lan"] is True
    assert page("--no-web") is None


def test_a_usual_port_that_is_taken_gives_way_to_a_free_one():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # somebody else has it: just as good
            other.bind(("127.0.0.1", WebSettings().port))
            other.listen()
        assert page()["port"] == 0


def test_a_port_that_is_none_is_bad_input(capsys):
    assert main(["sim", "--port", "70000"]) == 2
    assert "--port: must be a whole number in [0, 65535]" in capsys.readouterr().err


def test_the_page_shows_the_robot_that_is_simulated():
    assert page("--robot", "article")["robot"] == "article"
