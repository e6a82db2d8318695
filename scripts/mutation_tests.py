"""Plugin of pytest for scripts/mutation.py: records which test executes which line, or runs a chosen list of tests.

MUTATION_RECORD is the file for the outcome and duration of each test; coverage.py runs beside it and takes the node id
of the test as its context. MUTATION_TESTS is a file with the node ids of the tests to run, in this order.
"""

import json
import os
from pathlib import Path

import coverage
import pytest

from hexapod_control.core.workspace.capabilities import Capabilities

RECORD, CHOSEN = os.environ.get("MUTATION_RECORD"), os.environ.get("MUTATION_TESTS")
passed: dict[str, float] = {}  # duration [s] by node id


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keeps the chosen tests, in their order. What is recorded computes, and reads no result of an earlier run."""
    if RECORD:
        Capabilities.use_store(None)
    if CHOSEN:
        place = {name: k for k, name in enumerate(Path(CHOSEN).read_text().splitlines())}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Attributes the lines executed by a test, with its fixtures, to the test."""
    measured = coverage.Coverage.current() if RECORD else None
    if measured is not None:
        measured.switch_context(item.nodeid)
    yield
    if measured is not None:
        measured.switch_context("")


def pytest_runtest_logreport(report):
    """Notes the duration of a test that passes."""
    if report.when == "call" and report.passed:
        passed[report.nodeid] = report.duration


def pytest_sessionfinish():
    """Writes the record."""
    if RECORD:
        Path(RECORD).write_text(json.dumps(passed))
