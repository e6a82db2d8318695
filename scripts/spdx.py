#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives every source file the line that names its licence, for tools that read SPDX.

spdx.py           adds the line where it is missing; run it again after a merge
spdx.py --check   only lists the files without it, and ends with 1 if there are any
"""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
HASH, SLASHES, BLOCK, MARKUP = ("# ", ""), ("// ", ""), ("/* ", " */"), ("<!-- ", " -->")
SIGNS = {  # of a comment in files with these endings
    ".py": HASH,
    ".sh": HASH,
    ".bash": HASH,
    ".js": SLASHES,
    ".mjs": SLASHES,
    ".c": SLASHES,
    ".h": SLASHES,
    ".cpp": SLASHES,
    ".ino": SLASHES,
    ".css": BLOCK,
    ".html": MARKUP,
    ".xacro": MARKUP,
}
FIRST = re.compile(rb"(?:#!.*\n)?(?:<\?xml.*\n)?(?:<!doctype.*\n)?", re.IGNORECASE)  # must stay the first lines
WHERE = 400  # bytes from the start of a file that are searched for the line


def line(root, suffix):
    """Returns the line for files with an ending; the licence is that of package.xml."""
    opened, closed = SIGNS[suffix]
    licence = ElementTree.parse(root / "package.xml").getroot().findtext("license")
    return f"{opened}SPDX-License-Identifier: {licence}{closed}\n".encode()


def sources(root):
    """Returns the tracked files of code, with the ending that counts: programs without one are recognised by `#!`."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    found = []
    for path in (root / name for name in names.split("\0") if name):
        if path.is_symlink() or not path.is_file() or path.stat().st_size == 0:
            continue
        if path.suffix in SIGNS:
            found.append((path, path.suffix))
        elif not path.suffix and path.read_bytes()[:2] == b"#!":
            found.append((path, ".sh"))
    return found


def missing(root):
    """Returns the files without the line, with their endings."""
    return [(path, suffix) for path, suffix in sources(root) if line(root, suffix) not in path.read_bytes()[:WHERE]]


def add(path, text):
    """Writes the line into a file, after what must stay first."""
    content = path.read_bytes()
    end = FIRST.match(content).end()
    path.write_bytes(content[:end] + text + content[end:])


def main():
    """Adds or lists; the exit code is 1 if a check finds a file."""
    found = missing(ROOT)
    check = sys.argv[1:] == ["--check"]
    for path, suffix in found:
        if not check:
            add(path, line(ROOT, suffix))
        print(path.relative_to(ROOT))
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
