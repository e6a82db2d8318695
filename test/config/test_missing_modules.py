# SPDX-License-Identifier: Apache-2.0
"""The remedies for missing Python modules work: they name packages that are on the package index, and this Python."""

import re
import sys

import pytest
from support.paths import ROOT

from hexapod_control.config.missing_modules import PACKAGES, install_command, missing_module

REQUIRED = set(re.findall(r'"([\w.-]+)(?:\[\w+\])?[>~]=', (ROOT / "setup.py").read_text()))
"""Names of the packages that setup.py installs, with all extras."""


@pytest.mark.parametrize("module", PACKAGES)
def test_a_remedy_installs_packages_that_setup_py_requires_and_never_this_one(module):
    remedy = missing_module(ModuleNotFoundError("", name=f"{module}.part"))
    assert remedy.startswith(f"{module} is missing: ")
    assert "hexapod_control" not in remedy
    installed = re.fullmatch(rf".*: {re.escape(sys.executable)} -m pip install ([a-z0-9 ]+)", remedy)
    assert set(installed[1].split()) <= REQUIRED


def test_the_python_of_a_debian_system_gets_debian_packages_or_breaks_out_knowingly(monkeypatch, tmp_path):
    """Debian closes its Python to pip by a file."""
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert install_command("evdev", "python3-evdev") == f"{sys.executable} -m pip install evdev"
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    assert install_command("evdev", "python3-evdev") == "sudo apt install python3-evdev"
    assert install_command("mujoco").endswith(" -m pip install mujoco --user --break-system-packages")


def test_a_module_without_a_remedy_has_none():
    assert missing_module(ModuleNotFoundError("", name="hexapod_control.core")) is None
