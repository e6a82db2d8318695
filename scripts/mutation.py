"""Mutation testing: draws mutants of the code and runs the tests that execute the changed line.

A surviving mutant is a missing test, or code that changes nothing. The first run records which test executes which
line (about twice the time of the tests), kept in .mutation/ until sources or tests change. Mutants are
tried in a copy of the tree, quickest tests first; a test that fails kills the mutant, and so do tests that twice exceed
their time limit: the first time may be due to a loaded machine.

  make mutation [SEED=1] [DRAW=20] [MUTATE=hexapod_control/core/gait] [TESTS=test/core]

Tests that start processes are left out: coverage does not see what these execute.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coverage import CoverageData
from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".mutation"
FOLDERS = tuple(f"hexapod_control/{name}" for name in ("core", "servos", "nodes"))
NOT_COPIED = shutil.ignore_patterns(
    *(".git", ".venv*", ".*_cache", ".hypothesis", ".mutation", "__pycache__", "build", "install", "log", "*.egg-info")
)
TESTS_RECORDED = "not process and not heavy and not netns and not browser"
TEST_BUDGET_S = 240.0  # of recorded test time per mutant; the quickest tests are taken
DOCUMENTS = "test/package/test_docs.py"  # compares tables of parameters, topics and keys with the code
AT_IMPORT = ""  # stands for a test in the record
IMPORT_DEPTH = 2  # modules between a test and the constant that it depends on
NOT_EXECUTED = "SURVIVED: no recorded test executes this line"
TIME_LIMIT = "the time limit"
START_TIME_S, SLOWDOWN = 60.0, 4.0  # time limit of a mutant: this plus that many times the recorded time


@dataclass(frozen=True, slots=True)
class Record:
    """The tests that execute each line, and their durations."""

    lines: dict[str, dict[int, set[str]]]  # tests by path and line
    seconds: dict[str, float]  # by test

    def tests(self, mutant: Mutant) -> list[str]:
        """Returns the tests for a mutant, quickest first."""
        path = str(mutant.path)
        lines = self.lines.get(path, {})
        found = lines.get(mutant.line) or lines.get(mutant.statement, set())
        if not mutant.called or AT_IMPORT in found:
            found = found | self._importers(mutant.path)
        chosen, total = [], 0.0
        for name in sorted(found & self.seconds.keys(), key=lambda name: (self.seconds[name], name)):
            total += self.seconds[name]
            if chosen and total > TEST_BUDGET_S:
                break
            chosen.append(name)
        return chosen

    def _importers(self, path: Path) -> set[str]:
        """For a line executed at import: the tests that use the module, directly or through others, or its table."""
        modules = {str(path)}
        for _ in range(IMPORT_DEPTH):
            modules |= importing(self.lines, modules)
        tests = importing({name.partition("::")[0] for name in self.seconds}, modules) | {DOCUMENTS}
        using = set().union(*(found for name in modules for found in self.lines.get(name, {}).values()))
        return using | {name for name in self.seconds if name.partition("::")[0] in tests}


def importing(files: Iterable[str], modules: set[str]) -> set[str]:
    """Those of these files that import one of the modules or something from its folder."""
    words = {
        f"{name} import" for path in map(Path, modules) for name in (dotted(path.with_suffix("")), dotted(path.parent))
    }
    return {file for file in files if any(word in content(file) for word in words)}


def dotted(path: Path) -> str:
    """The name of a module."""
    return ".".join(path.parts)


@cache
def content(file: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / file).read_text()


def environment(tree: Path, **more: str) -> dict[str, str]:
    """Returns the environment in which Python imports the package and the tests of `tree`, not the installed ones."""
    folders = os.pathsep.join((str(tree), str(ROOT / "scripts")))
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": folders, "PYTHONDONTWRITEBYTECODE": "1", **more}


def pytest(*arguments: str) -> list[str]:
    """Returns the arguments of Python that run pytest with the plugin."""
    return ["-m", "pytest", "-q", "-p", "mutation_tests", "-p", "no:cacheprovider", *arguments]


def fingerprint(tests: list[str]) -> str:
    """Returns a hash of the sources and the tests of a record."""
    found = hashlib.sha256(" ".join(tests).encode())
    for path in sorted([*ROOT.glob("hexapod_control/**/*.py"), *ROOT.glob("test/**/*.py")]):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def record(tests: list[str], workers: int) -> Record:
    """Returns the record for the present sources, from the cache or by running the tests."""
    folder = CACHE / fingerprint(tests)
    if not (folder / "done").exists():
        shutil.rmtree(CACHE, ignore_errors=True)
        folder.mkdir(parents=True)
        run_recorded(folder, test_files(tests), workers)
        (folder / "done").touch()
    seconds: dict[str, float] = {}
    for path in folder.glob("*.json"):
        seconds |= json.loads(path.read_text())
    return Record(read_lines(folder), seconds)


def test_files(tests: list[str]) -> list[str]:
    """Returns the test files below these paths, largest first."""
    paths = [ROOT / name for name in tests]
    found = [file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    return [str(path.relative_to(ROOT)) for path in sorted(found, key=lambda path: (-path.stat().st_size, path))]


def run_recorded(folder: Path, files: list[str], workers: int) -> None:
    """Runs the tests with coverage in several processes."""
    print(f"recording which of {len(files)} test files executes which line ...", flush=True)
    processes = []
    for k in range(workers):
        settings = folder / f"{k}.ini"
        sources = "".join(f"    {ROOT / name}\n" for name in FOLDERS)
        settings.write_text(f"[run]\ndata_file = {folder / f'{k}.data'}\nsource =\n{sources}")
        chosen = pytest("--timeout", "300", "-m", TESTS_RECORDED, *files[k::workers])
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", *chosen]
        values = {"MUTATION_RECORD": str(folder / f"{k}.json"), "PYTEST_XDIST_WORKER": f"gw{k}"}
        log = (folder / f"{k}.log").open("w")
        processes.append(subprocess.Popen(command, cwd=ROOT, env=environment(ROOT, **values), stdout=log, stderr=log))
    for k, process in enumerate(processes):
        if process.wait() not in (0, 1, 5):  # passed, some tests failed, no tests in these files
            raise SystemExit(f"the tests could not be run, see {folder / f'{k}.log'}")


def read_lines(folder: Path) -> dict[str, dict[int, set[str]]]:
    """Returns the tests by file and line, with AT_IMPORT where it is executed outside of tests."""
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in folder.glob("*.data"):
        data = CoverageData(basename=str(path))
        data.read()
        for name in data.measured_files():
            lines = found[str(Path(name).relative_to(ROOT))]
            for line, contexts in data.contexts_by_lineno(name).items():
                lines[line].update(contexts)
    return found


def killer(mutant: Mutant, tests: list[str], tree: Path, seconds: float) -> str:
    """Returns the test that kills a mutant, or TIME_LIMIT if they exceed it twice; empty if the mutant survives."""
    found = attempt(mutant, tests, tree, seconds)
    return attempt(mutant, tests, tree, 2.0 * seconds) if found == TIME_LIMIT else found


def attempt(mutant: Mutant, tests: list[str], tree: Path, seconds: float) -> str:
    """Returns the first test that fails with a mutant, or TIME_LIMIT; empty if none does."""
    target = tree / mutant.path
    original = target.read_bytes()
    chosen = tree / "chosen_tests"
    chosen.write_text("\n".join(tests))
    files = sorted({name.partition("::")[0] for name in tests})
    command = [sys.executable, *pytest("-x", "--no-header", "--tb=no", "-rfE", *files)]
    target.write_bytes(mutant.apply(original))
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment(tree, MUTATION_TESTS=str(chosen)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=START_TIME_S + SLOWDOWN * seconds)
    except subprocess.TimeoutExpired:
        return TIME_LIMIT
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        target.write_bytes(original)
    failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return "" if process.returncode == 0 else (failed or ["an error at import"])[0].partition(" - ")[0].split()[-1]


def options() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (default: %(default)s)")
    parser.add_argument("--draw", type=int, default=20, help="number of mutants (default: %(default)s)")
    parser.add_argument(
        "--mutate", nargs="*", default=FOLDERS, help="files or folders to mutate (default: %(default)s)"
    )
    parser.add_argument("--tests", nargs="*", default=["test"], help="files or folders of tests (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes for the record (default: %(default)s)")
    return parser.parse_args()


def main() -> int:
    """Prints each mutant with the test that killed it, then the survivors. Returns 1 if there are any."""
    args = options()
    files = sorted(file for name in args.mutate for file in [*ROOT.glob(f"{name}/**/*.py"), *ROOT.glob(name)])
    candidates = [m for file in files if file.suffix == ".py" for m in in_tree(file)]
    drawn = random.Random(args.seed).sample(candidates, min(args.draw, len(candidates)))
    recorded = record(args.tests, args.workers)
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutation_") as folder:
        tree = Path(folder, "tree")
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
        subprocess.run([sys.executable, "-m", "compileall", "-q", "hexapod_control", "test"], cwd=tree, check=False)
        for number, mutant in enumerate(drawn, start=1):
            tests = recorded.tests(mutant)
            found = killer(mutant, tests, tree, sum(recorded.seconds[name] for name in tests)) if tests else ""
            verdict = f"killed by {found}" if found else f"SURVIVED {len(tests)} tests" if tests else NOT_EXECUTED
            print(f"{number:3d} {mutant.description}\n      {verdict}", flush=True)
            survivors += [] if found else [mutant]
    killed = len(drawn) - len(survivors)
    print(f"\nkilled {killed} of {len(drawn)} mutants, seed {args.seed}; survivors:")
    print(*([mutant.description for mutant in survivors] or ["none"]), sep="\n")
    return int(bool(survivors))


def in_tree(file: Path) -> list[Mutant]:
    """Returns the mutants of a file, with its path relative to the repository."""
    os.chdir(ROOT)
    return list(mutants(file.relative_to(ROOT)))


if __name__ == "__main__":
    sys.exit(main())
