"""The command `hexapod`: exit codes and one-line errors."""

import sys
from types import SimpleNamespace

import pytest

from hexapod_control.cli import main as cli


def pretend(monkeypatch, run):
    """A subcommand `walk` that does what the test wants."""
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


def test_an_unknown_robot_is_bad_input_in_one_line(capsys):
    assert cli.main(["urdf", "--robot", "unknown"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert "known: article, " in output.err


def test_the_exit_code_is_that_of_the_subcommand(monkeypatch):
    pretend(monkeypatch, lambda arguments: 7)
    assert cli.main(["walk"]) == 7


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (cli.InputError("gait: unknown,\nknown are tripod"), 2, "hexapod: gait: unknown, known are tripod\n"),
        (cli.GraphError("seed: must be a whole number"), 2, "hexapod: seed: must be a whole number\n"),
        (ModuleNotFoundError("", name="rclpy"), 1, "hexapod: rclpy is missing: source a ROS 2 installation"),
        (ModuleNotFoundError("", name="mujoco.renderer"), 1, "hexapod: mujoco is missing: pip install"),
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


def test_the_servos_of_the_table_are_listed_without_a_robot_or_a_port(capsys):
    assert cli.main(["servos", "models"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("model,protocol,V,rad/s,rpm,N m,kg cm")
    assert "AX-12A,dynamixel1,12,6.18,59,1.500,15.3,300,54.6,ROBOTIS e-Manual" in rows
