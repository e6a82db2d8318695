# SPDX-License-Identifier: Apache-2.0
"""Tests that need an optional module are skipped in words where it is not installed."""

import os
import subprocess
import sys

import pytest
from support.paths import ROOT

WITH, WITHOUT = "test/core/kinematics/test_body_pose.py", "test/config/test_missing_modules.py"
PROGRAM = """
import sys

class Without:
    def find_spec(self, name, *_):
        if name == "hypothesis":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Without())
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.process
def test_without_hypothesis_its_tests_are_skipped_in_words_and_the_others_run():
    options = ["-q", "-rs", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they load Hypothesis
    command = [sys.executable, "-c", PROGRAM, *options, WITH, WITHOUT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the optional module hypothesis is not installed" in done.stdout and "passed" in done.stdout
