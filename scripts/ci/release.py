#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the tree can be released; run by CI and by hand before a tag.

release.py        versions and addresses agree, and CHANGELOG.rst has the form that catkin_prepare_release reads
release.py TAG    also: TAG is the version, the changelog ends with it, and no address is a placeholder

In CI the tag that started the workflow is taken if none is given.
"""

import os
import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.compile(r"\d+\.\d+\.\d+")
MESSAGES = "msgs/hexapod_msgs/package.xml"
VERSIONS = {
    "setup.py": r'^ *version="([^"]+)"',
    "CITATION.cff": r"^version: [\"']?([^\"'\n]+)",
    MESSAGES: r"<version>([^<]+)",
}
ADDRESSES = {  # type of the address in package.xml that each of these in a file begins with
    "CITATION.cff": ("repository", r"^repository-code: (\S+)"),
    "README.md": ("website", r"\]\((https://[^\s)]+?)/actions/"),
    MESSAGES: ("website", r'<url type="website">([^<]+)'),
}
SECTION = re.compile(r"^(\S.*)\n(-+)\n((?:(?!\S.*\n-+\n).*\n)*)", re.M)
NEXT = "Forthcoming"
PLACEHOLDER = "example.org"


def text(root, name):
    """Returns the content of a file of the tree."""
    return (root / name).read_text(encoding="utf-8")


def version_faults(root, version):
    """Yields files that give another version than package.xml."""
    if not VERSION.fullmatch(version):
        yield f"package.xml: version {version} is not of the form 1.2.3"
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, text(root, name), re.M)
        other = found[1].strip() if found else "missing"
        if other != version:
            yield f"{name}: version is {other}, package.xml has {version}; make them equal"


def address_faults(root, manifest):
    """Yields files whose addresses are not those of package.xml."""
    for name, (kind, pattern) in ADDRESSES.items():
        wanted = manifest.findtext(f"url[@type='{kind}']")
        for other in sorted(set(re.findall(pattern, text(root, name), re.M) or ["missing"]) - {wanted}):
            yield f"{name}: the {kind} is {other}, package.xml has {wanted}; make them equal"


def changelog_faults(sections):
    """Yields what catkin_prepare_release could not read in the sections, (title, underline, body)."""
    if not sections:
        yield f"CHANGELOG.rst: has no section; begin one with {NEXT}"
    for title, line, body in sections:
        if len(title) != len(line):
            yield f"CHANGELOG.rst: the line below {title!r} must be as long as the title"
        if title != NEXT and not re.fullmatch(rf"{VERSION.pattern} \(\d{{4}}-\d\d-\d\d\)", title):
            yield f"CHANGELOG.rst: {title!r} must be {NEXT}, or a version with its date, 1.2.3 (2026-01-31)"
        if not re.search(r"^\* \S", body, re.M):
            yield f"CHANGELOG.rst: {title!r} is empty; list the changes, or remove it"
    numbers = [tuple(map(int, VERSION.match(title)[0].split("."))) for title, *_ in sections if VERSION.match(title)]
    if any(newer <= older for newer, older in pairwise(numbers)):
        yield "CHANGELOG.rst: the versions must descend, the newest first"


def tag_faults(root, version, titles, tag):
    """Yields what keeps the tree from being the release of this tag."""
    if tag != version:
        yield f"tag {tag}: package.xml has version {version}; tags are versions, without a v"
    if not titles or titles[0].split()[0] != tag:
        yield f"CHANGELOG.rst: the first section must be that of {tag}; run catkin_prepare_release"
    for name in ("package.xml", *ADDRESSES):
        if PLACEHOLDER in text(root, name):
            yield f"{name}: contains addresses of {PLACEHOLDER}; put those of the project there"


def faults(root, tag=""):
    """Returns one line for each reason against a release."""
    manifest = ElementTree.parse(root / "package.xml").getroot()
    version = manifest.findtext("version", "missing")
    sections = SECTION.findall(text(root, "CHANGELOG.rst") + "\n")
    found = [*version_faults(root, version), *address_faults(root, manifest), *changelog_faults(sections)]
    if tag:
        found += tag_faults(root, version, [title for title, *_ in sections], tag)
    return found


def main():
    """Prints the faults; the exit code is 1 if there are any."""
    from_ci = os.environ.get("GITHUB_REF_NAME", "") if os.environ.get("GITHUB_REF_TYPE") == "tag" else ""
    found = faults(ROOT, sys.argv[1] if len(sys.argv) > 1 else from_ci)
    print(*found, sep="\n", file=sys.stderr) if found else print("ready")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
