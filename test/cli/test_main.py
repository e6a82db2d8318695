# SPDX-License-Identifier: Apache-2.0
"""The command `hexapod`: exit codes and one-line errors."""

import os
import random
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from support.paths import ROOT
from support.real_time.programs import HEXAPOD

from hexapod_control.cli import main as cli
from hexapod_control.clients.bounded_wait import wait_until
from hexapod_control.config.missing_modules import install_command


def pretend(monkeypatch, run):
    """Replaces the subcommand `walk` by a function of the test."""
    module = SimpleNamespace(add_arguments=lambda parser: None, run=run)
    monkeypatch.setitem(sys.modules, "hexapod_control.cli.robot_files.walk", module)


def failing(error):
    def run(arguments):
        raise error

    return run


def test_help_lists_the_subcommands_and_imports_none(capsys, monkeypatch):
    monkeypatch.setattr(cli, "import_module", failing(AssertionError("imported")))
    with pytest.raises(SystemExit) as caught:
        cli.main(["--help"])
    assert caught.value.code == 0
    output = capsys.readouterr().out
    assert all(name in output for name in cli.COMMANDS)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["urdf", "--no-such-option"], ["walk", "--rate", "often"]])
def test_arguments_that_cannot_be_parsed_are_bad_input_in_one_line(arguments, capsys):
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("hexapod: ") and error.count("\n") == 1 and "--help" in error


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_misspelt_command_or_option_is_answered_with_the_one_that_was_meant(name, capsys):
    assert cli.main([f"{name}{name[-1]}"]) == 2
    assert f"did you mean {name}?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    options = sorted(set(re.findall(r"^  (--[a-z][a-z-]+)", capsys.readouterr().out, re.MULTILINE)))
    for option in random.Random(1).sample(options, min(3, len(options))):
        assert cli.main([name, *cli.COMMANDS[name].example.split(), f"{option}{option[-1]}=1"]) == 2
        assert f"did you mean {option}?; see hexapod {name}" in capsys.readouterr().err


def test_an_unknown_robot_is_bad_input_in_one_line(capsys):
    assert cli.main(["urdf", "--robot", "unknown"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert "known: article, " in output.err


def test_a_command_that_computes_for_long_says_what_it_computes(monkeypatch, capsys):
    said = []

    def run(arguments):
        return int(not wait_until(lambda: said.append(capsys.readouterr().err) or said[-1], 5.0, time.sleep))

    pretend(monkeypatch, run)
    monkeypatch.setattr(cli, "NOTICE_S", 0.01)
    assert cli.main(["walk"]) == 0
    assert said[-1] == "computing the walk ...\n"


def test_the_exit_code_comes_from_the_subcommand(monkeypatch):
    pretend(monkeypatch, lambda arguments: 7)
    assert cli.main(["walk"]) == 7


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (cli.InputError("gait: unknown,\nknown are tripod"), 2, "hexapod: gait: unknown, known are tripod\n"),
        (cli.GraphError("seed: must be a whole number"), 2, "hexapod: seed: must be a whole number\n"),
        (ModuleNotFoundError("", name="rclpy"), 1, "hexapod: rclpy is missing: source a ROS 2 installation"),
        (
            ModuleNotFoundError("", name="mujoco.renderer"),
            1,
            f"hexapod: mujoco is missing: {install_command('mujoco pillow')}",
        ),
        (PermissionError(13, "Permission denied", "out.csv"), 1, "Permission denied: 'out.csv'\n"),
    ],
)
def test_errors_are_reported_in_one_line(monkeypatch, capsys, error, code, message):
    pretend(monkeypatch, failing(error))
    assert cli.main(["walk"]) == code
    output = capsys.readouterr().err
    assert message in output
    assert output.count("\n") == 1


def test_an_unexpected_exception_is_not_hidden(monkeypatch):
    pretend(monkeypatch, failing(ModuleNotFoundError("", name="hexapod_control.core.gone")))
    with pytest.raises(ModuleNotFoundError):
        cli.main(["walk"])


def test_the_version_matches_the_manifest(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    manifest = (ROOT / "package.xml").read_text(encoding="utf-8")
    assert f"<version>{capsys.readouterr().out.split()[1]}</version>" in manifest


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_help_of_every_subcommand_has_an_example_that_it_accepts(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_robot.yaml").touch()
    assert cli.parser(name).parse_args([name, *cli.COMMANDS[name].example.split()]).command == name
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    example = f"example: hexapod {name} {cli.COMMANDS[name].example}"
    assert " ".join(example.split()) in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("command", "action"), [("servos", "scan"), ("servos", "watch"), ("i2c", "scan")])
def test_options_may_stand_before_and_after_the_action(command, action):
    parser = cli.parser(command)
    robot, port = ["--robot", "article"], ["--port" if command == "servos" else "--bus", "/dev/none"]
    words = [
        [*robot, *port, action],
        [*robot, action, *port],
        [action, *port, *robot],
    ]
    first, *others = (parser.parse_args([command, *each]) for each in words)
    assert first.robot == "article" and others == [first, first]
    assert parser.parse_args([command, action]).robot == "phantomx"


def test_an_interruption_is_one_line_and_exit_code_130(monkeypatch, capsys):
    pretend(monkeypatch, failing(KeyboardInterrupt()))
    assert cli.main(["walk"]) == 130 and 130 in cli.EXIT_CODES
    assert capsys.readouterr().err == "hexapod: interrupted\n"


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "found"), [("hexapod doc", "doctor"), ("hexapod servos --po", "--port"), ("hexapod setup --pi ", "zero2")]
)
def test_a_shell_gets_completions(tmp_path, line, found):
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    answer = tmp_path / "answer"
    environment = {**os.environ, **asked, "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    subprocess.run(HEXAPOD, env=environment, timeout=300, check=False)
    assert found in answer.read_text().split()


def test_the_servos_of_the_table_are_listed_without_a_robot_or_a_port(capsys):
    assert cli.main(["servos", "models"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("model,protocol,V,rad/s,rpm,N m,kg cm")
    assert "AX-12A,dynamixel1,12,6.18,59,1.500,15.3,300,54.6,ROBOTIS e-Manual" in rows
