# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: draws mutants of the code and runs the tests of their subject.

A surviving mutant is a missing test, or code that changes nothing. A Python that has imported the libraries forks for
each mutant, which imports the changed package from a copy of the tree. The tests that import the changed module and
those in the folder that mirrors its folder run first, then those of the folders above and of the documentation; of
tests that wait in real time only the former, at the end. The first test that fails kills the mutant.

  make mutation [SEED=1] [DRAW=20] [MUTATE=hexapod_control/core/gait]
"""

import argparse
import contextlib
import importlib
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = tuple(f"hexapod_control/{name}" for name in ("core", "servos", "nodes"))
NOT_COPIED = shutil.ignore_patterns(
    *(".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "build", "install", "log", "*.egg-info")
)
SURVIVED, TIME_LIMIT = "SURVIVED", "the time limit"
COMPUTING, WAITING = "not waits", "waits and not heavy and not netns and not browser"
DOCUMENTATION = "test/package/test_docs.py"  # its tables are those of the code, its messages occur there
MAX_PROCESSOR_S, MAX_TEST_S = 60.0, 300.0  # of one test: a mutant may loop or wait for ever
LIBRARIES = (
    "numpy",
    "hypothesis",
    "pytest",
    "mujoco",
    "rclpy.executors",
    "sensor_msgs.msg",
    "aiohttp",
)


class Suite:
    """The test files of a tree."""

    def __init__(self, tree: Path) -> None:
        self._texts = {str(file.relative_to(tree)): file.read_text() for file in tree.glob("test/**/test_*.py")}

    def near(self, path: Path) -> list[str]:
        """Returns the test files that import a module, and those in the folder that mirrors its folder."""
        module, package = ".".join(path.with_suffix("").parts), ".".join(path.parent.parts)
        imports = re.compile(rf"{re.escape(module)} import|from {re.escape(package)} import [^\n]*\b{path.stem}\b")
        own = [file for file in self._texts if Path(file).name == f"test_{path.stem}.py"]
        direct = [file for file, text in self._texts.items() if imports.search(text)]
        return self._smallest_first(own, direct, self._below(mirror(path.parent)))

    def far(self, path: Path) -> list[str]:
        """Returns the other test files of the folder above, of that of the whole subject, and of the documentation."""
        folder = mirror(path.parent)
        found = self._smallest_first(self._below(folder.parent), self._below(Path(*folder.parts[:2])))
        near = set(self.near(path))
        return [file for file in [*found, DOCUMENTATION] if file not in near]

    def _below(self, folder: Path) -> list[str]:
        return [file for file in self._texts if len(folder.parts) > 1 and Path(file).is_relative_to(folder)]

    def _smallest_first(self, *groups: list[str]) -> list[str]:
        return list(dict.fromkeys(file for group in groups for file in sorted(group, key=self._size)))

    def _size(self, file: str) -> int:
        return len(self._texts[file])


def mirror(folder: Path) -> Path:
    """Returns the folder of tests for a folder of the package."""
    return Path("test", *folder.parts[1:])


class ProgressWatch:
    """Detects that a process no longer finishes tests. Processor time counts, because the machine may be loaded."""

    def __init__(self, process: int, log: Path) -> None:
        self._stat, self._log = Path(f"/proc/{process}/stat"), log
        self._size, self._since, self._used = -1, 0.0, 0.0

    def stalled(self) -> bool:
        """Returns True if the current test takes too long."""
        fields = self._stat.read_text().rpartition(")")[2].split()
        used = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        size = self._log.stat().st_size
        if size != self._size:
            self._size, self._since, self._used = size, time.monotonic(), used
        return used - self._used > MAX_PROCESSOR_S or time.monotonic() - self._since > MAX_TEST_S


def failed_test(tree: Path, files: list[str], marks: str) -> str:
    """Runs tests in a fork of this process; returns the first that fails, or what ends them; empty if they pass."""
    log = tree.parent / "output.txt"
    if not files:
        return ""
    log.write_text("")
    child = os.fork()
    if child == 0:
        run_pytest(tree, log, [*files, "-m", marks])
    watch = ProgressWatch(child, log)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and not watch.stalled():
        time.sleep(0.05)
    if ended[0] == 0:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return TIME_LIMIT
    if os.waitstatus_to_exitcode(ended[1]) in (0, 5):  # passed, or no test has these marks
        return ""
    failed = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return (failed or ["ERROR an import"])[0].partition(" - ")[0].partition(" ")[2]


def run_pytest(tree: Path, log: Path, arguments: list[str]) -> None:
    """Runs pytest and ends this process."""
    os.setsid()
    os.chdir(tree)
    output = os.open(log, os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    pytest = importlib.import_module("pytest")
    os._exit(int(pytest.main(["-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *arguments])))


def killer(mutant: Mutant, tree: Path, suite: Suite) -> str:
    """Returns the test that kills a mutant; empty if the mutant survives."""
    target, near = tree / mutant.path, suite.near(mutant.path)
    original = target.read_bytes()
    change(target, mutant.apply(original))
    try:
        computed = failed_test(tree, near, COMPUTING) or failed_test(tree, suite.far(mutant.path), COMPUTING)
        waited = "" if computed else failed_twice(tree, near)
    finally:
        change(target, original)
    return computed or ("" if waited and waited != TIME_LIMIT and failed_test(tree, [waited], WAITING) else waited)


def failed_twice(tree: Path, files: list[str]) -> str:
    """Returns the first of the tests that wait that fails again when it is repeated: others failed for lack of time."""
    late: list[str] = []
    while failed := failed_test(tree, [*files, *(f"--deselect={test}" for test in late)], WAITING):
        if failed == TIME_LIMIT or failed_test(tree, [failed], WAITING):
            return failed
        late.append(failed)
    return ""


def change(source: Path, text: bytes) -> None:
    """Writes a source file; code compiled from one of the same size within the same second is not used."""
    source.write_bytes(text)
    Path(importlib.util.cache_from_source(source)).unlink(missing_ok=True)


def try_all(drawn: list[tuple[int, Mutant]]) -> None:
    """Tries mutants one after the other in a copy of the tree and prints each with its verdict."""
    with tempfile.TemporaryDirectory(prefix="mutation_") as folder:
        tree = Path(folder, "tree")
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
        os.environ.update(PYTHONSAFEPATH="1", PYTHONPATH=str(tree))
        sys.path.insert(0, str(tree))
        for name in LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        suite = Suite(tree)
        for number, mutant in drawn:
            found = killer(mutant, tree, suite)
            print(f"{number:3d} {mutant.description}\n      {f'killed by {found}' if found else SURVIVED}", flush=True)


def work(worker: int, options: argparse.Namespace) -> list[str]:
    """Runs the share of a worker in a process of its own, passes on what it prints, and returns the survivors."""
    command = [sys.executable, *sys.argv, "--share", str(worker)]
    environment = {**os.environ, "PYTEST_XDIST_WORKER": f"gw{worker}"}  # the tests use a ROS domain per worker
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            print(line, end="", flush=True)
    if process.returncode:
        raise SystemExit(f"worker {worker} of {options.workers} ended with {process.returncode}")
    return [before.rstrip() for before, line in pairwise(lines) if line.strip() == SURVIVED]


def parse() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (default: %(default)s)")
    parser.add_argument("--draw", type=int, default=20, help="number of mutants (default: %(default)s)")
    parser.add_argument(
        "--mutate", nargs="*", default=FOLDERS, help="files or folders to mutate (default: %(default)s)"
    )
    parser.add_argument("--workers", type=int, default=2, help="mutants tried at once (default: %(default)s)")
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)  # of a worker
    return parser.parse_args()


def draw(options: argparse.Namespace) -> list[tuple[int, Mutant]]:
    """Draws mutants of the folders, each with its number."""
    files = sorted(file for name in options.mutate for file in [*ROOT.glob(f"{name}/**/*.py"), *ROOT.glob(name)])
    os.chdir(ROOT)
    candidates = [m for file in files if file.suffix == ".py" for m in mutants(file.relative_to(ROOT))]
    return list(enumerate(random.Random(options.seed).sample(candidates, min(options.draw, len(candidates))), start=1))


def main() -> int:
    """Prints each mutant with the test that kills it, then the survivors. Returns 1 if there are any."""
    options = parse()
    drawn = draw(options)
    if options.share is not None:
        try_all(drawn[options.share :: options.workers])
        return 0
    with ThreadPoolExecutor(options.workers) as pool:
        alive = [line for lines in pool.map(lambda k: work(k, options), range(options.workers)) for line in lines]
    print(f"\nkilled {len(drawn) - len(alive)} of {len(drawn)} mutants, seed {options.seed}; survivors:")
    print(*(sorted(alive) or ["none"]), sep="\n")
    return int(bool(alive))


if __name__ == "__main__":
    sys.exit(main())
