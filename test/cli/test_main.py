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
    told = capsys.readouterr().out
    assert all(name in told for name in cli.COMMANDS)


@pytest.mark.parametrize("words", [[], ["fly"], ["urdf", "--no-such-option"], ["walk", "--rate", "often"]])
def test_arguments_that_cannot_be_parsed_are_bad_input_in_one_line(words, capsys):
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("hexapod: ") and error.count("\n") == 1 and "--help" in error


def test_an_unknown_robot_is_bad_input_in_one_line(capsys):
    assert cli.main(["urdf", "--robot", "nobody"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "known: article, " in told.err


def test_the_exit_code_is_that_of_the_subcommand(monkeypatch):
    pretend(monkeypatch, lambda arguments: 7)
    assert cli.main(["walk"]) == 7


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (cli.InputError("gait: unknown,\nknown are tripod"), 2, "hexapod: gait: unknown, known are tripod\n"),
        (cli.GraphError("seed: must be a whole number"), 2, "hexapod: seed: must be a whole number\n"),
        (ModuleNotFoundError("", name="rclpy"), 1, "hexapod: rclpy is missing: source a ROS 2 installation"),
        (ModuleNotFoundError("", name="mujoco.renderer"), 1, "hexapod: mujoco is missing: pip install"),
        (PermissionError(13, "Permission denied", "out.csv"), 1, "Permission denied: 'out.csv'\n"),
    ],
)
def test_errors_are_told_in_one_line(monkeypatch, capsys, error, code, sentence):
    pretend(monkeypatch, failing(error))
    assert cli.main(["walk"]) == code
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_a_defect_of_our_own_is_not_hidden(monkeypatch):
    pretend(monkeypatch, failing(ModuleNotFoundError("", name="hexapod_control.core.gone")))
    with pytest.raises(ModuleNotFoundError):
        cli.main(["walk"])
