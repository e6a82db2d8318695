# SPDX-License-Identifier: Apache-2.0
"""Builds that nobody has seen are led from `hexapod new` to the first steps in one sitting, without an editor.

The builder makes three mistakes in each; every one is named, and the joints are where the robot file says in the end.
"""

import pytest
from support.kits.builder import Build, evening, worst_error
from support.suite.soak import some

from hexapod_control.servos.commissioning.stages import STAGES

pytestmark = pytest.mark.usefixtures("memory_time")

SEEDS = range(60)
MAX_ERROR_DEG = 0.5  # of a servo with 1024 ticks, and of a pulse in whole microseconds


@pytest.mark.parametrize("seed", some(SEEDS, 6, 24))
def test_a_builder_with_three_mistakes_gets_from_the_box_to_the_first_steps(seed, tmp_path):
    build = Build(seed, tmp_path)
    builder, machine = evening(build)
    assert machine.current is None and len(machine.progress.done) == len(STAGES), builder.told()
    assert worst_error(build) < MAX_ERROR_DEG
    assert not builder.shown("correct_file")


@pytest.mark.parametrize("kit", some(["freenove", "big_hex", "chica"], "freenove"))
def test_a_kit_whose_file_is_in_the_package_is_calibrated_from_the_values_in_it(kit, tmp_path):
    build = Build(3, tmp_path, kit)
    builder, machine = evening(build)
    assert machine.current is None, builder.told()
    assert worst_error(build) < MAX_ERROR_DEG
