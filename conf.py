# SPDX-License-Identifier: Apache-2.0
"""Sphinx: the pages of docs/, the front matter of the repository, and the API of core, servos and nodes.

`make docs` builds the site in build/docs. The pages are written for GitHub and stay as they are: the groups of
docs/index.md become the table of contents here, and docstrings with Markdown's backticks become reStructuredText.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from posixpath import normpath
from typing import Any
from xml.etree import ElementTree

from sphinx.application import Sphinx
from sphinx.ext import apidoc

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # rosdoc2 does not install the package
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()
DOCUMENTED = ("core", "servos", "nodes")
API = "docs/api"

project = MANIFEST.findtext("name", "")
author = MANIFEST.findtext("author", "")
release = version = MANIFEST.findtext("version", "")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
root_doc = "docs/index"
include_patterns = ["*.md", "CHANGELOG.rst", "docs/**.md", f"{API}/*.rst"]
html_theme = "sphinx_rtd_theme"  # as on docs.ros.org, where rosdoc2 has it
html_title = f"{project} {version}"
myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 4  # with the names that GitHub gives them
autodoc_default_options = {"members": True, "ignore-module-all": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"


def groups(index: str) -> dict[str, list[list[str]]]:
    """The tables of docs/index.md by heading: for each row its pages, of which the first one stands for the others."""
    found = {}
    for title, text in re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", index, re.M):
        cells = re.findall(r"^\| (\[[^|]*) \|", text, re.M)
        links = [re.findall(r"\]\(([^)#]+)\)", cell) for cell in cells]
        found[title] = [[normpath(f"/docs/{re.sub(r'[.](md|rst)$', '', link)}") for link in row] for row in links]
    return found


def toctree(pages: list[str], *options: str) -> str:
    """A hidden table of contents."""
    return "\n".join(["", "```{toctree}", ":hidden:", *options, "", *pages, "```", ""])


def extended(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds to a page what only the site has."""
    index = groups((Path(app.srcdir) / f"{root_doc}.md").read_text(encoding="utf-8"))
    if page == root_doc:
        source[0] += toctree(["/README"])
        for title, rows in index.items():
            source[0] += toctree([row[0] for row in rows], f":caption: {title}")
    for row in (row for rows in index.values() for row in rows):
        if row[0] == f"/{page}" and row[1:]:
            source[0] += toctree(row[1:])
    if page == API:
        source[0] += f"\n```{{toctree}}\n:maxdepth: 2\n\n{Path(API).name}/hexapod_control\n```\n"


def restructured(_app: Sphinx, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Turns the Markdown of a docstring into reStructuredText: `code`, indented blocks, signs that are no markup."""
    paragraphs = "\n".join(lines).split("\n\n")
    lines[:] = "\n\n".join(map(_paragraph, paragraphs)).split("\n")


def _paragraph(text: str) -> str:
    if text.startswith("   "):
        return f"::\n\n{text}"
    parts = re.split(r"(`+[^`]+`+)", text)
    parts[1::2] = [f"``{part.strip('`')}``" for part in parts[1::2]]
    parts[::2] = [re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def without_aliases(_app: Sphinx, _kind: str, _name: str, member: Any, skip: bool, _options: Any) -> bool | None:
    """Leaves out the fields of named tuples, whose docstrings say nothing."""
    return True if str(getattr(member, "__doc__", "")).startswith("Alias for field number") else None


def write_api(app: Sphinx) -> None:
    """One page for every folder of the documented packages."""
    package = ROOT / "hexapod_control"
    others = [str(path) for path in package.iterdir() if path.is_dir() and path.name not in DOCUMENTED]
    options = ["--force", "--no-toc", "--module-first", "--automodule-options", "members,show-inheritance"]
    apidoc.main([*options, "--output-dir", str(ROOT / API), str(package), *others])


def write_front(app: Sphinx, error: Exception | None) -> None:
    """Leads from the address of the site to the index of its pages."""
    if error is None:
        (Path(app.outdir) / "index.html").write_text(
            f'<meta http-equiv="refresh" content="0; url={root_doc}.html">\n', encoding="utf-8"
        )


def setup(app: Sphinx) -> None:
    """Connects the functions above."""
    app.connect("builder-inited", write_api)
    app.connect("source-read", extended)
    app.connect("autodoc-process-docstring", restructured, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", without_aliases)
    app.connect("build-finished", write_front)
