# SPDX-License-Identifier: Apache-2.0
"""Option --repetition FILE, for a second run of failed tests: lists those that pass, so that no retry hides them."""

from pathlib import Path

import pytest

TITLE = "tests that failed and passed when repeated alone"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--repetition", metavar="FILE", help=f"append the names of {TITLE} to FILE")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the names and appends them to the file."""
    file = config.getoption("--repetition")
    passed = terminalreporter.stats.get("passed", [])
    if file is None or not passed:
        return
    terminalreporter.section(TITLE)
    names = "".join(f"{report.nodeid}\n" for report in passed)
    terminalreporter.write(names)
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as list_of_names:
        list_of_names.write(names)
