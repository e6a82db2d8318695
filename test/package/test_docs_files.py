# SPDX-License-Identifier: Apache-2.0
"""The files and folders that pages and drawings name exist."""

import re

import pytest
from support.paths import ROOT

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
DRAWINGS = sorted((ROOT / "docs" / "images").rglob("*.svg"))
BASES = [ROOT / base for base in ("", "hexapod_control", "hexapod_control/core", "test", "docs", "launch")]
NAME = r"(?:[\w-]+|\{[\w,]+\})"  # of a file or folder
SOURCE_FILE = re.compile(
    rf"{NAME}(?:/{NAME})*\.(?:py|js|html|css|c|xacro|rst|service|rules)|{NAME}(?:/{NAME})+\.(?:md|yaml)"
)
FOLDER = re.compile(rf"(?:{NAME}/)+")


def spans(markdown):
    """Texts in backticks, code blocks left out."""
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", markdown, flags=re.S | re.M)))


def is_placeholder(name):
    """Whether a part of a path is in capitals, as in cli/FOLDER/NAME.py."""
    return any(
        re.match(r"[A-Z]{3,}", part) and not part.startswith(("README", "CONTRIBUTING")) for part in name.split("/")
    )


def exists(name):
    """Whether a path stands below one of the folders that pages refer to; of a single name, anywhere in them."""
    if any((base / name).exists() for base in BASES):
        return True
    return "/" not in name and any(True for base in BASES[1:] for _ in base.rglob(name))


def missing(names):
    return sorted(name for name in names if not is_placeholder(name) and not exists(name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_and_folder_that_a_page_names_exists(page):
    named = {
        span
        for span in spans(page.read_text(encoding="utf-8"))
        if SOURCE_FILE.fullmatch(span) or FOLDER.fullmatch(span)
    }
    assert not missing(named), f"{page.name}: {', '.join(missing(named))}"


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.name)
def test_every_file_that_a_drawing_names_exists(drawing):
    texts = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawing.read_text(encoding="utf-8")))
    assert not missing(set(re.findall(r"[\w/]+\.(?:py|js)\b", texts)))


def recipe_steps():
    """The numbered steps of CONTRIBUTING.md, each with its continuation lines."""
    recipes = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Recipes")[2]
    return re.findall(r"^\d+\. .*(?:\n   .*)*", recipes, re.M)


@pytest.mark.parametrize("step", recipe_steps(), ids=lambda step: step[:40])
def test_the_tables_and_functions_that_a_recipe_names_occur_in_its_files(step):
    found = spans(step)
    files = [base / name for name in found if SOURCE_FILE.fullmatch(name) for base in BASES if (base / name).is_file()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    names = {
        name
        for name in found
        if re.fullmatch(r"_?[A-Z][A-Z_]+|[a-z][a-z_.]+", name) and not SOURCE_FILE.fullmatch(name)
    }
    assert not files or not sorted(name for name in names if name not in text)
