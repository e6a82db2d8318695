"""The remedies for missing Python modules work: they name packages that are on the package index."""

import re

import pytest
from support.paths import ROOT

from hexapod_control.config.missing_modules import REMEDIES, missing_module

REQUIRED = set(re.findall(r'"([\w.-]+)(?:\[\w+\])?[>~]=', (ROOT / "setup.py").read_text()))
"""Names of the packages that setup.py installs, with all extras."""


@pytest.mark.parametrize("module", REMEDIES)
def test_a_remedy_installs_packages_that_setup_py_requires_and_never_this_one(module):
    remedy = missing_module(ModuleNotFoundError("", name=f"{module}.part"))
    assert remedy.startswith(f"{module} is missing: ")
    assert "hexapod_control" not in remedy
    installed = re.findall(r"pip install ([a-z0-9 ]+)$", remedy)
    assert all(set(names.split()) <= REQUIRED for names in installed)
    assert installed or "run make" in remedy


def test_a_module_without_a_remedy_has_none():
    assert missing_module(ModuleNotFoundError("", name="hexapod_control.core")) is None
