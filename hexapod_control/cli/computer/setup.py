# SPDX-License-Identifier: Apache-2.0
"""`hexapod setup`: checks the computer of a robot step by step, corrects it after confirmation, undoes it."""

from __future__ import annotations

import argparse
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from hexapod_control.bringup.installation.boot_files import PI_MODELS
from hexapod_control.bringup.installation.setup_steps import (
    STEPS,
    Hotspot,
    SetupFacts,
    SetupStep,
    StepFinding,
    StepState,
    gather,
    unsupported,
)
from hexapod_control.bringup.installation.system_root import RECORD, SystemRoot, apply, undo
from hexapod_control.config.errors import DONE, FAILED, INTERRUPTED
from hexapod_control.config.shipped_files import share

FINE = (StepState.RIGHT, StepState.NOT_NEEDED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument(
        "--dry-run", action="store_true", help="show what is wrong and would be changed, change nothing"
    )
    parser.add_argument("--yes", action="store_true", help="change everything without asking")
    parser.add_argument("--undo", action="store_true", help=f"take back all changes, which are recorded in {RECORD}")
    parser.add_argument(
        "--root", type=_folder, default="/", metavar="DIR", help="root folder of the system, e.g. of a mounted card"
    )
    parser.add_argument("--user", default="", help="who runs the robot (default: you)")
    parser.add_argument(
        "--robot", default="", metavar="FILE", help="robot file, as a path on that system (default: ~/robot.yaml)"
    )
    parser.add_argument(
        "--workspace", default="", metavar="DIR", help="colcon workspace (default: that of this program, or ~/ws)"
    )
    parser.add_argument("--port", default="", help="port of the servos (default: the robot file's)")
    parser.add_argument("--hotspot", default="", metavar="NAME", help="a network of the robot's own, of this name")
    parser.add_argument("--password", default="", help="of that network (default: a random one, which is shown)")
    parser.add_argument("--pi", default="", choices=list(PI_MODELS), help="model of the Pi (default: this one)")


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text}: is not a folder, give the root of a system, e.g. a mounted card")
    return Path(text)


def run(args: argparse.Namespace) -> int:
    """Prints the table, asks and corrects. Returns 0 if all steps are right at the end, else 1; 130 after Ctrl-C."""
    root = SystemRoot(args.root)
    try:
        if args.undo:
            return _undo(root)
        user = args.user or os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
        robot, workspace = (_absolute(root, path) for path in (args.robot, args.workspace or _own_workspace(root)))
        hotspot = Hotspot.of(root, args.hotspot, args.password) if args.hotspot else None
        facts = gather(root, user, robot, workspace, args.pi, args.port, hotspot)
        findings = {step: step.find(facts) for step in STEPS}
        failures = 0
        _print_table(findings)
        changes = [step for step, finding in findings.items() if finding.state is StepState.WRONG]
        refusal = unsupported(root)
        if refusal:
            print(f"\n{refusal}")
        elif args.dry_run:
            for step in changes:
                _show(step, findings[step])
        elif changes:
            _need_root(root)
            results = {step: _change(step, facts, args.yes) for step in changes}
            failures = sum(result.failed for result in results.values())
            _print_next([step for step in STEPS if step in results and results[step].right])
    except KeyboardInterrupt:
        print(
            "\ninterrupted: changes so far stay; run the same command again to continue, or with --undo to revert them"
        )
        return INTERRUPTED
    all_fine = all(step.find(facts).state in FINE for step in STEPS)
    return DONE if all_fine and not refusal and not failures else FAILED


def _absolute(root: SystemRoot, path: str) -> str:
    """A path of the running system from its root; of another system it stays as it is, and so does an empty one."""
    return os.path.abspath(path) if path and root.is_running else path


def _own_workspace(root: SystemRoot) -> str:
    """The workspace of this program; empty if it is not in one, or another system is set up."""
    folder = share()
    return str(folder.parents[3]) if root.is_running and folder.parts[-4:-2] == ("install", folder.name) else ""


def _print_table(findings: dict[SetupStep, StepFinding]) -> None:
    for step, finding in findings.items():
        print(f"{step.title:13s} {finding.state.value:11s} {finding.reason}")


def _show(step: SetupStep, finding: StepFinding) -> None:
    print(f"\n{step.title}: {finding.reason}")
    for edit in finding.edits:
        print(f"  {edit.path}", *(f"    {line}" for line in edit.lines()), sep="\n")
    for command in finding.commands:
        print(f"  $ {' '.join(command)}")


class StepChange(NamedTuple):
    """The result of a change: whether its step is right now, and how many of its commands failed."""

    right: bool = False
    failed: int = 0


def _change(step: SetupStep, facts: SetupFacts, yes: bool) -> StepChange:
    """Shows a change and makes it after confirmation."""
    finding = step.find(facts)
    _show(step, finding)
    if not (yes or _agreed()):
        return StepChange()
    apply(facts.root, finding.edits)
    failed = _run(facts.root, finding.commands)
    now = step.find(facts)
    print(f"  {now.state.value}: {now.reason}")
    return StepChange(now.state is not StepState.WRONG, failed)


def _agreed() -> bool:
    try:
        answer = input("  Change this? yes or no [no]: ").strip().lower()
    except EOFError:
        answer = ""
        print()
    return answer in ("y", "yes")


def _run(root: SystemRoot, commands: tuple[tuple[str, ...], ...]) -> int:
    """Runs commands on the running system. Returns how many failed."""
    failed = 0
    for command in commands if root.is_running else ():
        try:
            code = subprocess.run(command, check=False).returncode
        except FileNotFoundError:
            code = 127
        if code:
            failed += 1
            print(f"  {' '.join(command)} failed with exit code {code}: restart the computer instead")
    return failed


def _print_next(changed: list[SetupStep]) -> None:
    for action in dict.fromkeys(step.takes_effect for step in changed if step.takes_effect):
        titles = ", ".join(step.title for step in changed if step.takes_effect == action)
        print(f"\nThen, for {titles}: {action}")


def _undo(root: SystemRoot) -> int:
    _need_root(root)
    remaining = 0
    for edit, done in undo(root):
        print(f"{edit.path}: {'restored' if done else 'was changed since; take these lines back yourself:'}")
        if not done:
            remaining += 1
            print(*(f"  {line}" for line in edit.lines()), sep="\n")
    print(
        f"the record has {remaining} changes left"
        if remaining
        else "all recorded changes are undone; restart the computer"
    )
    return FAILED if remaining else DONE


def _need_root(root: SystemRoot) -> None:
    """Restarts this command with sudo, which passes no environment, unless it may already change the system."""
    if not root.is_running or os.geteuid() == 0:
        return
    if shutil.which("sudo") is None:
        raise PermissionError("changes of this system need root: run the command as root")
    print("\nChanges need root: sudo may ask for your password.", flush=True)
    environment = {name: os.environ[name] for name in ("AMENT_PREFIX_PATH", "ROS_DISTRO") if name in os.environ}
    environment |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONSAFEPATH": "1"}
    variables = [f"{name}={value}" for name, value in environment.items()]
    os.execvp("sudo", ["sudo", "env", *variables, sys.executable, "-m", "hexapod_control.cli.main", *sys.argv[1:]])
