#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets address and maintainer of the project: in package.xml, their one place, and in the files that repeat them.

set_project.py https://github.com/OWNER/hexapod_control "NAME" MAIL
"""

import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).resolve().parents[1]
NUMBER = 3  # of arguments
MAINTAINER = r"^ *(<maintainer .*</maintainer>)"
URLS = {"website": "{}", "repository": "{}.git", "bugtracker": "{}/issues"}


def replaced(text, pattern, value, name):
    """Returns a text with the group of a pattern replaced, everywhere. Raises ValueError if it is missing."""
    changed, count = re.subn(pattern, lambda found: found[0].replace(found[1], value), text, flags=re.M)
    if not count:
        raise ValueError(f"{name}: has nothing of the form {pattern}")
    return changed


def set_project(root, website, maintainer, email):
    """Writes the values into the files of a tree."""
    website = website.rstrip("/")
    element = f"<maintainer email={quoteattr(email)}>{escape(maintainer)}</maintainer>"
    urls = {kind: (rf'<url type="{kind}">([^<]*)</url>', escape(form.format(website))) for kind, form in URLS.items()}
    changes = {
        "package.xml": [(MAINTAINER, element), *urls.values()],
        "msgs/hexapod_msgs/package.xml": [(MAINTAINER, element), urls["website"]],
        "CITATION.cff": [(r"^repository-code: (\S+)", URLS["repository"].format(website))],
        "README.md": [(r"\((https://[^\s)]+?)/actions/", website)],
    }
    texts = {}
    for name, rows in changes.items():
        texts[name] = (root / name).read_text(encoding="utf-8")
        for pattern, value in rows:
            texts[name] = replaced(texts[name], pattern, value, name)
    texts["package.xml"] = re.sub(r"^ *<!-- The addresses on example.org .*\n", "", texts["package.xml"], flags=re.M)
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")


def main():
    """Sets the values; the exit code is 2 for a bad input."""
    if len(sys.argv) != NUMBER + 1 or not re.fullmatch(r"https://[^\s/]+/\S+", sys.argv[1]) or "@" not in sys.argv[3]:
        print(__doc__, file=sys.stderr)
        return 2
    set_project(ROOT, *sys.argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
