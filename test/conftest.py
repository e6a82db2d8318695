"""Every test run has a ROS of its own: no other graph on this machine or network is seen or disturbed."""

import inspect
import itertools
import os
import random

import hypothesis
import pytest

WORKERS, DOMAINS = 4, 25  # that never share a domain, and how many each has: those up to 100 are free of trouble
RUN = int(os.environ.get("PYTEST_XDIST_TESTRUNUID", "0"), 16) or random.SystemRandom().randrange(DOMAINS)
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
TURN = itertools.count()


def next_domain() -> None:
    """Another domain than any other worker of the run has, and than the last ones of this worker."""
    os.environ["ROS_DOMAIN_ID"] = str(1 + WORKERS * ((RUN + next(TURN)) % DOMAINS) + WORKER % WORKERS)


# How long an example takes is the machine's business.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

# Set at import, before any test module imports rclpy; the number of the run is the only unseeded one.
next_domain()
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"  # killed processes leave no shared memory behind
os.environ.setdefault("MUJOCO_GL", "egl")


# From where tests have their processes, buses, messages and pages.
BENCHES = {
    f"support.{name}"
    for name in (
        "calibration_bench",
        "hosts",
        "motion_bench",
        "ros_bench",
        "servo_bench",
        "simulator_rig",
        "teleop_bench",
        "terminal_window",
        "web_bench",
        "wires",
    )
}


def pytest_collection_modifyitems(items):
    """Tells tests that wait for something in real time from those that only compute."""
    for item in items:
        sources = {getattr(value, "__module__", None) or "" for value in vars(item.module).values()}
        imported = {name for name, value in vars(item.module).items() if inspect.ismodule(value)}
        fixtures = set(item.fixturenames) & {"bench", "wire"}
        if (sources | imported) & (BENCHES | {"subprocess"}) or fixtures or item.get_closest_marker("process"):
            item.add_marker("waits")
    starting = {item.path for item in items if item.get_closest_marker("process")}
    for item in items:
        if item.path in starting:
            item.add_marker("starts")


@pytest.fixture(scope="module", autouse=True)
def own_domain():
    """Each file has a domain of its own: processes that were killed are seen in theirs for many seconds."""
    next_domain()


@pytest.fixture
def bench(monkeypatch):
    """Nodes in this process on real DDS."""
    from support.ros_bench import Bench, tables

    from hexapod_control.core.walking import walk_controller

    monkeypatch.setattr(walk_controller.Capabilities, "of", tables)
    made = Bench()
    yield made
    made.close()


@pytest.fixture
def wire(tmp_path):
    """Makes emulated servos on a bus."""
    from support.wires import Wire

    made = []

    def make(*args, **options):
        made.append(Wire(tmp_path, *args, **options))
        return made[-1]

    yield make
    for each in made:
        each.pty.close()


@pytest.fixture
def launched(bench, wire):
    """Starts the graph of a real robot on emulated servos."""
    from support.wires import Launched

    made = []

    def make(**arguments):
        made.append(Launched(bench, wire(), **arguments))
        return made[-1]

    yield make
    for each in made:
        if each.process.poll() is None:
            each.process.kill()  # its nodes end with it
        each.process.communicate(timeout=10.0)


@pytest.fixture
def armed(tmp_path):
    """Makes emulated servos with a driver on them; they hold and follow a wave of targets."""
    from support.servo_bench import HIGH, ServoBench

    benches = []

    def make(*args, **changes):
        benches.append(ServoBench(tmp_path, *args, start=HIGH, **changes))
        benches[-1].arm()
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()
        bench.assert_no_leap()  # whatever the fault was
