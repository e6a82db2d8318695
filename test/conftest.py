# SPDX-License-Identifier: Apache-2.0
"""Fixtures, and a ROS domain per test file: no other graph on this machine or network is discovered or disturbed."""

import contextlib
import faulthandler
import functools
import gc
import inspect
import itertools
import os
import random
import re
import signal
import tempfile
from pathlib import Path

import pytest
from support.suite.soak import SOAK

from hexapod_control.config.robots import saved_capabilities
from hexapod_control.ros.transport.loopback import loopback_environment

pytest_plugins = ["support.suite.repetition"]

MAX_WORKERS, DOMAINS = 6, 16  # workers that never share a domain, and domains of each; Linux supports ids up to 101
RUN = int(os.environ.get("PYTEST_XDIST_TESTRUNUID", "0"), 16) or random.SystemRandom().randrange(DOMAINS)
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
FILES = itertools.count()


def next_domain() -> None:
    """Sets a ROS domain that no other worker uses, and that this worker has not used for the last files."""
    os.environ["ROS_DOMAIN_ID"] = str(1 + MAX_WORKERS * ((RUN + next(FILES)) % DOMAINS) + WORKER % MAX_WORKERS)


def take_session() -> None:
    """Gives a worker a session of its own: Linux may share the processor evenly among sessions.

    Otherwise all workers together would get as much as each node that they start. Workers that only compute get least.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or os.getpgrp() == os.getpid():
        return
    os.setsid()
    if os.sched_getscheduler(0) == os.SCHED_IDLE:
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text("19", encoding="ascii")


take_session()

# Collection and the syntax trees of the sources make so many objects that looking for garbage would take a tenth of the
# processor time of the tests that only compute.
gc.set_threshold(50_000, 20, 20)

# A loaded machine may take longer for an example than Hypothesis allows. `make soak` draws twice as many, and others
# each time.
with contextlib.suppress(ModuleNotFoundError):
    import hypothesis

    patience = hypothesis.settings(deadline=None, derandomize=not SOAK, max_examples=100 if SOAK else 50)
    hypothesis.settings.register_profile("patient", patience)
    hypothesis.settings.load_profile("patient")

# Programs under test end on SIGINT, also if the tests run in the background of a shell, which ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Set at import, before any test module imports rclpy. The domain is the only random number that is not seeded.
next_domain()
os.environ["XDG_STATE_HOME"] = f"{tempfile.gettempdir()}/hexapod_test_{os.getpid()}"  # created only if written to
# Tests of the same sources compute what each robot can do once, in whatever process.
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / ".pytest_cache")
saved_capabilities.enable()
os.environ.update(loopback_environment())
os.environ.setdefault("MUJOCO_GL", "egl")


REAL_TIME = "support.real_time."
REAL_TIME_FIXTURES = {"armed", "bench", "launched", "wire"}
MAY_WAIT = re.compile(rf"mark\.(waits|process|heavy)|{REAL_TIME[:-1]}|\b({'|'.join(sorted(REAL_TIME_FIXTURES))})\b")


@functools.cache
def may_wait(path):
    """Whether a file of tests has one of the words without which no test of it waits."""
    return MAY_WAIT.search(path.read_text(encoding="utf-8")) is not None


def pytest_ignore_collect(collection_path, config):
    """With `-m waits...` only files that may have such tests are imported: half of the processor time of a start."""
    if collection_path.is_file() and config.option.markexpr.startswith("waits") and not may_wait(collection_path):
        return True
    return None


# What package.xml leaves out of a distribution, or what only pip has: tests that need it are skipped in words.
OPTIONAL = {"axe_core_python", "dynamixel_sdk", "evdev", "hypothesis", "mujoco", "rosbags", "scservo_sdk", "segno"}
OPTIONAL |= {"collada", "gymnasium", "hexapod_msgs", "mcp", "onnx", "onnxruntime", "smbus2", "trimesh"}


def skip_without(error):
    """Skips what needs an optional module; any other error is raised again."""
    name = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and name in OPTIONAL:
        pytest.skip(f"the optional module {name} is not installed", allow_module_level=True)
    raise error


class OptionalModule(pytest.Module):
    """A file of tests, skipped as a whole if it imports an optional module that is not installed."""

    def collect(self):
        try:
            return super().collect()
        except self.CollectError as error:
            skip_without(error.__cause__ or error)


def pytest_pycollect_makemodule(module_path, parent):
    return OptionalModule.from_parent(parent, path=module_path)


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test in which an optional module is imported that is not installed."""
    outcome = yield
    error = outcome.excinfo[1] if outcome.excinfo else None
    if isinstance(error, ModuleNotFoundError):
        try:
            skip_without(error)
        except BaseException as changed:
            outcome.force_exception(changed)


def pytest_collection_modifyitems(items):
    """Marks the tests that wait in real time; the others only compute, and may run at any load of the machine.

    A test waits if it starts processes, uses one of the fixtures above, or stands in a file that imports classes,
    functions or modules from support.real_time.
    """
    for item in items:
        starts_processes = item.get_closest_marker("process") or item.get_closest_marker("heavy")
        if starts_processes or REAL_TIME_FIXTURES & set(item.fixturenames) or in_real_time(item.module):
            item.add_marker("waits")
        if item.get_closest_marker("waits") and not may_wait(item.path):
            raise pytest.UsageError(f"{item.nodeid} waits, but nothing in its file matches MAY_WAIT in {__file__}")


@pytest.hookimpl(trylast=True)
def pytest_configure():
    """Keeps traces of crashes on the terminal: EventsExecutor would send them to the captured output, which is lost."""
    faulthandler.enable = lambda *args, **options: None


def pytest_collection_finish():
    gc.freeze()  # what was collected lives until the end


@functools.cache
def in_real_time(module):
    """Whether a module of tests imports from support.real_time."""
    imported = vars(module).values()
    origins = {each.__name__ if inspect.ismodule(each) else getattr(each, "__module__", None) for each in imported}
    return any((origin or "").startswith(REAL_TIME) for origin in origins)


@pytest.fixture(scope="module", autouse=True)
def own_domain():
    """Each file has its own domain: killed processes stay visible in theirs for many seconds."""
    next_domain()


@pytest.fixture
def bench():
    """Nodes in this process on real DDS."""
    from support.real_time.ros_bench import Bench

    made = Bench()
    yield made
    made.close()


@pytest.fixture
def phantomx():
    """Robot and URDF text of the shipped robot."""
    from support.drives import robot_and_urdf

    return robot_and_urdf()


@pytest.fixture
def wire(tmp_path):
    """Makes emulated servos on a bus, without a driver."""
    from support.real_time.wires import Wire

    made = []

    def make(*args, **options):
        made.append(Wire(tmp_path, *args, **options))
        return made[-1]

    yield make
    for each in made:
        each.pty.close()


@pytest.fixture
def memory_time(monkeypatch):
    """Servos on a port in memory that do not answer cost no real time."""
    from support.kits.memory_wire import MEMORY_CLOCK

    from hexapod_control.servos.bus import transaction

    monkeypatch.setattr(transaction, "time", MEMORY_CLOCK)


@pytest.fixture
def launched(bench, wire):
    """Starts all nodes of a real robot, in processes of their own, on emulated servos."""
    from support.real_time.wires import Launched

    made = []

    def make(start=None, **arguments):
        made.append(Launched(bench, wire(start=start), **arguments))
        return made[-1]

    yield make
    for each in made:
        if each.process.poll() is None:
            each.process.kill()  # its nodes end with it
        each.process.communicate(timeout=10.0)


def armed_benches(begin):
    """Yields a function that makes armed benches; closes them, and checks that no servo leapt, after every fault."""
    benches = []

    def make(*args, **changes):
        benches.append(begin(*args, **changes))
        benches[-1].arm()
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()
        bench.assert_no_leap()


@pytest.fixture
def armed(tmp_path):
    """Makes emulated servos with a driver; they are armed and follow targets on a slow wave."""
    from support.kits.recorded_servos import HIGH
    from support.real_time.servo_bench import ServoBench

    yield from armed_benches(functools.partial(ServoBench, tmp_path, start=HIGH))


@pytest.fixture
def simulated_time(monkeypatch):
    """The time in which buses wait for replies, without real time."""
    from support.kits.simulated_bench import SimulatedTime

    from hexapod_control.servos.bus import pulse_board, transaction
    from hexapod_control.servos.i2c import i2c_bus, pwm_chip
    from hexapod_control.servos.protocols import pca9685

    made = SimulatedTime()
    for module in (pulse_board, transaction, i2c_bus, pwm_chip, pca9685):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def simulated(simulated_time):
    """As `armed`, in simulated time and without threads."""
    from support.kits.simulated_bench import SimulatedBench

    yield from armed_benches(functools.partial(SimulatedBench, simulated_time))


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    """A page in Chromium that shows a scripted robot, shared by the tests of a file."""
    from support.real_time.web.scripted_robot import ScriptedRobot

    made = ScriptedRobot(tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()


@pytest.fixture
def told(scripted):
    """The scripted robot stands, and nothing is wrong. The page must report no error."""
    scripted.tell()
    scripted.shows("Standing", "good", "Sit")
    yield scripted
    assert scripted.page.errors == []
