# SPDX-License-Identifier: Apache-2.0
"""Commands that ask at the terminal."""

import os
import sys

import pytest

from hexapod_control.cli.main import main


@pytest.fixture
def type_into(monkeypatch):
    """Runs a command with lines on its standard input."""

    def run(command, lines, *words):
        reader, writer = os.pipe()
        os.write(writer, "".join(f"{line}\n" for line in lines).encode())
        os.close(writer)
        with os.fdopen(reader) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return main([command, *words])

    return run
