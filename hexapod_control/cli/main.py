# SPDX-License-Identifier: Apache-2.0
# PYTHON_ARGCOMPLETE_OK
"""The command `hexapod`: a table of subcommands, each in its own module that is imported only when needed."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import NamedTuple
from xml.etree import ElementTree

from hexapod_control.bringup.launch_arguments import GraphError
from hexapod_control.cli.bounded_options import CommandFailedError, InputError, OneLineParser
from hexapod_control.config.errors import DONE, FAILED, INTERRUPTED, INVALID_INPUT, ArgumentError, FileError, RobotError
from hexapod_control.config.missing_modules import missing_module
from hexapod_control.config.ros_names import RosNameError
from hexapod_control.config.schema import did_you_mean
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import printable


class Command(NamedTuple):
    """A subcommand."""

    module: str  # below cli
    text: str  # what it does
    example: str  # arguments, for its help
    computed: str = ""  # result that can take seconds, of a subcommand that prints nothing before


COMMANDS = {
    "start": Command(
        "robot.start", "choose a robot on a page and start it: in simulation, its first evening, or driving", "--lan"
    ),
    "sim": Command(
        "sim.sim",
        "walk in physics simulation, driven by keyboard or as a demonstration",
        "--robot article --world slope --slope-deg 8",
    ),
    "robot": Command("robot.robot", "run the nodes of a real robot, all in one process", "my_robot.yaml"),
    "keyboard": Command("drive.keyboard", "drive a running robot from any terminal", "--namespace /robot1"),
    "gamepad": Command("drive.gamepad", "drive a running robot with a gamepad", "--namespace /robot1"),
    "rc": Command(
        "drive.gamepad",
        "drive a running robot with an RC transmitter (CRSF, SBUS)",
        "--receiver-port /dev/ttyUSB1 --channels my_channels.yaml",
    ),
    "mcp": Command(
        "drive.mcp",
        "let an assistant drive a running robot within bounds, over the Model Context Protocol",
        "--allow move --radius 1",
    ),
    "play": Command("drive.play", "play a motion on a running robot, or rehearse it without a robot", "wave"),
    "policy": Command(
        "drive.policy",
        "let a running robot follow a learned policy within all limits, or check whether the policy fits a robot",
        "run policy.onnx --robot my_robot.yaml",
    ),
    "leg": Command(
        "drive.leg",
        "fold a lost leg of a running robot away, or unfold it again",
        "lost left_front",
    ),
    "status": Command(
        "drive.status",
        "print state, reports and health of a running robot: hours, distance, voltage, cycles",
        "--namespace /robot1",
    ),
    "estop": Command("drive.request", "emergency stop: the torque goes off at once, the robot may fall", ""),
    "reset": Command("drive.request", "clear the emergency stop and past faults; the torque stays off", ""),
    "arm": Command("drive.request", "switch the torque on, where the servos are", ""),
    "disarm": Command("drive.request", "switch the torque off; let the robot sit down before", ""),
    "stand": Command("drive.request", "make a running robot stand up", ""),
    "sit": Command("drive.request", "make a running robot sit down", ""),
    "stop": Command("drive.request", "make a running robot stop with its feet down", "--namespace /robot1"),
    "recover": Command(
        "drive.request", "make a robot that has fallen fold its legs and stand up again", "--namespace /robot1"
    ),
    "emulate": Command(
        "servos.emulate",
        "emulate the servos of a robot behind a pseudo terminal",
        "--protocol feetech_st --link ~/bus --fault unplug=5@10",
    ),
    "servos": Command(
        "servos.servos",
        "find, monitor and move the servos of a robot",
        "scan --robot my_robot.yaml --port /dev/hexapod",
    ),
    "i2c": Command(
        "servos.i2c",
        "list what answers on the I2C bus of a robot, and what is missing",
        "scan --robot my_robot.yaml",
    ),
    "calibrate": Command(
        "servos.calibrate",
        "calibrate the servos of a robot step by step",
        "--robot my_robot.yaml --port /dev/hexapod",
    ),
    "dots": Command(
        "robot_files.dots",
        "print the sheet on whose dots the feet stand in a calibration",
        "my_robot.yaml --paper a3",
        "where the dots of the robot are best",
    ),
    "identify": Command(
        "servos.identify",
        "let a robot on its stand measure delay, play, stiffness and friction of its servos",
        "my_robot.yaml --port /dev/hexapod",
    ),
    "calibrate-self": Command(
        "commissioning.calibrate_self",
        "let a robot measure its joint zeros and lengths on its own feet",
        "my_robot.yaml",
    ),
    "first": Command(
        "commissioning.first",
        "lead through the first evening with a robot, from the stand to a slow walk",
        "my_robot.yaml",
    ),
    "patrol": Command(
        "drive.patrol",
        "walk a running robot from waypoint to waypoint and around obstacles",
        "--waypoints waypoints.yaml",
    ),
    "check": Command(
        "robot_files.check", "report problems in a robot file and how to fix them", "my_robot.yaml --battery 24"
    ),
    "urdf": Command(
        "robot_files.urdf",
        "print the URDF of a robot file, what ros2_control or MoveIt need with it, or a summary",
        "--robot my_robot.yaml --summary",
        "the model of the robot",
    ),
    "mjcf": Command(
        "sim.mjcf",
        "print a robot in its world as one MuJoCo model, which plain MuJoCo loads",
        "my_robot.yaml --world bumps --reality typical",
        "the model of the robot",
    ),
    "import": Command(
        "robot_files.import_robot",
        "make a robot file from a URDF or xacro file",
        "my_robot.urdf --out my_robot.yaml",
        "legs, joint ranges and footholds of the URDF",
    ),
    "new": Command(
        "robot_files.new_robot", "make a robot file of your own hexapod, question by question", "my_hexapod.yaml"
    ),
    "gaits": Command(
        "robot_files.gaits",
        "list the gaits of a robot with speeds and margins, and draw them",
        "--robot my_robot.yaml --plot gaits.svg",
        "what legs and servos allow in each gait",
    ),
    "nav2-params": Command(
        "robot_files.nav2_params",
        "write the limits and the footprint of a robot into Nav2 parameters",
        "--robot my_robot.yaml --out nav2.yaml",
        "the speeds of the robot",
    ),
    "nav2-check": Command(
        "sim.nav2_check",
        "walk a simulated robot to goals with an installed Nav2, and report",
        "--robot my_robot.yaml --gait wave --goals 10",
    ),
    "walk": Command(
        "robot_files.walk",
        "walk without ROS and physics and write the joint targets to a CSV file",
        "--gait ripple --twist 0.1 0 0.2 --out joints.csv",
        "the walk",
    ),
    "record": Command(
        "bags.record",
        "buffer the last minute of all topics of a robot and write it to a bag on demand or on a fault",
        "--seconds 120 --out bags",
    ),
    "replay": Command("bags.replay", "play a bag for the page and RViz, or compare two runs", "bags/walk --speed 0.5"),
    "twin": Command(
        "bags.twin",
        "repeat the recorded run of a real robot in simulation, and report where both differ",
        "bags/walk --robot my_robot.yaml --plot twin.png",
        "the run of the twin",
    ),
    "odom-calibrate": Command(
        "robot_files.odom_calibrate",
        "measure the scale error of the odometry and write it into the robot file",
        "--robot my_robot.yaml --distance 2",
    ),
    "camera-calibrate": Command(
        "robot_files.camera_calibrate",
        "find from the floor how the depth camera is mounted, and write it into the robot file",
        "--robot my_robot.yaml",
    ),
    "setup": Command(
        "computer.setup",
        "check and set up the computer of a robot: ports, groups, start at power-on; every change can be undone",
        "--dry-run",
    ),
    "web-cert": Command(
        "computer.web_cert",
        "make a certificate with which the page is served by https, for the home screen of a phone",
        "--name robot.local",
    ),
    "doctor": Command(
        "computer.doctor", "list what this computer has and what works here: ROS, modules, ports, groups, OpenGL", ""
    ),
}
NOTICE_S = 2.0  # of computing, before a notice is printed
EXIT_CODES = {
    DONE: "done",
    FAILED: "failed or refused",
    INVALID_INPUT: "bad input, before anything starts",
    INTERRUPTED: "interrupted by Ctrl-C",
}


def parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser with the options of the chosen subcommand; the others are only listed."""
    codes = "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
    top = OneLineParser(prog="hexapod", description="Makes a hexapod walk.", epilog=f"exit codes: {codes}")
    top.add_argument("--version", action="version", version=f"hexapod_control {package_version()}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (submodule, text, arguments, _) in COMMANDS.items():
        example = f"example: hexapod {name} {arguments}"
        command = commands.add_parser(name, help=text, description=text, epilog=example)
        if name == chosen:
            module = import_module(f"hexapod_control.cli.{submodule}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Runs a subcommand. Returns one of EXIT_CODES, or 128 + the number of a signal."""
    words = sys.argv[1:] if words is None else list(words)
    replace_closed_streams()
    chosen = next((word for word in words if not word.startswith("-")), None)
    try:
        complete(chosen)
        if chosen is not None and chosen not in COMMANDS:
            hint = did_you_mean(chosen, tuple(COMMANDS)) or f"known are {', '.join(COMMANDS)}"
            raise InputError(f"{chosen}: no such command; {hint}; see hexapod --help")
        arguments = parser(chosen).parse_args(words)
        with notice(COMMANDS[arguments.command].computed):
            code = int(arguments.run(arguments))
        return code or discard_unwritable_output()
    except FileError as error:
        print(error, file=sys.stderr)  # file:line: key: value, bound, remedy
        return INVALID_INPUT
    except ArgumentError as error:
        return _report(f"--{error}", INVALID_INPUT)
    except (GraphError, InputError, RosNameError) as error:
        return _report(str(error), INVALID_INPUT)
    except CommandFailedError as error:
        return _report(str(error), FAILED)
    except RobotError as error:
        return _report(f"{chosen}: {error}", FAILED)
    except ModuleNotFoundError as error:
        reason = missing_module(error)
        if reason is None:
            raise
        return _report(reason, FAILED)
    except KeyboardInterrupt:
        return _report("interrupted", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output is gone: no message at exit
        return FAILED
    except OSError as error:
        return _report(str(error), FAILED)


def replace_closed_streams() -> None:
    """Opens the null device for each standard stream that was closed by the caller: it is at its end, and empty."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - until the program ends


def discard_unwritable_output() -> int:
    """Drops output that cannot be written, for which Python would exit with code 120.

    Returns FAILED if output is lost for another reason than a closed terminal, such as a full disk.
    """
    code = DONE
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if error.errno != errno.EIO:
                code = _report(f"the output is not complete: {error}", FAILED)
    return code


def package_version() -> str:
    """The version in the manifest of the package."""
    return ElementTree.parse(share("package.xml")).findtext("version", "")


def complete(chosen: str | None) -> None:
    """Answers a shell that asks for completions, and ends; does nothing otherwise."""
    line = os.environ.get("COMP_LINE")
    if "_ARGCOMPLETE" not in os.environ or line is None:
        return
    import argcomplete

    typed = chosen or next((word for word in line.split()[1:] if word in COMMANDS), None)
    argcomplete.autocomplete(parser(typed))


@contextmanager
def notice(what: str) -> Iterator[None]:
    """Prints on stderr what is being computed if the block takes longer than NOTICE_S; nothing for an empty text."""
    timer = threading.Timer(NOTICE_S, print, (f"computing {what} ...",), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    if what:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _report(message: str, code: int) -> int:
    print(f"hexapod: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
