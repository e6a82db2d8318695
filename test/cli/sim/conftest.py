# SPDX-License-Identifier: Apache-2.0
"""The command `hexapod sim` for the tests of this folder."""

import pytest


@pytest.fixture
def start():
    """Starts `hexapod sim` with arguments. Kills what is left of it at the end."""
    from support.real_time.programs import SimulationCommand

    commands = []

    def begin(*arguments, **options):
        commands.append(SimulationCommand(*arguments, **options))
        return commands[-1]

    yield begin
    for command in commands:
        command.close()
