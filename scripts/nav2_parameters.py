# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of test/data/nav2: which parameters each Nav2 release declares, by source file.

    python scripts/nav2_parameters.py /path/to/navigation2

The checkout must have the tags of RELEASES; the source files are those that test/data/nav2_parameters.yaml names.
A name that begins with a dot is declared under the name of the plugin, and one with two dots under that of an
observation source of the plugin.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from ruamel.yaml import YAML

RELEASES = {"jazzy": "1.3.13", "kilted": "1.4.2", "lyrical": "1.5.1"}
DATA = Path(__file__).parents[1] / "test" / "data"
CALL = re.compile(
    r"\b(getParam|declareParameter|declare_parameter(?:_if_not_declared)?|declare_or_get_parameter|add_parameter)\b"
)
RELATIVE = ("getParam", "declareParameter")  # prepend the name of the plugin themselves
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
PAIRS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def arguments(text: str) -> list[str]:
    """The arguments of a call; `text` begins behind its opening bracket."""
    found, depth, quoted = [""], 1, False
    for character in text:
        quoted ^= character == '"'
        depth += 0 if quoted else PAIRS.get(character, 0)
        if depth == 0:
            break
        if character == "," and depth == 1 and not quoted:
            found.append("")
        else:
            found[-1] += character
    return found


def declared(source: str) -> list[str]:
    """The names of the parameters that a C++ file declares."""
    source = re.sub(r"//.*", "", source)
    names = set()
    for call in CALL.finditer(source):
        rest = re.match(r"\s*(?:<[^;()]*>)?\s*\(", source[call.end() :])
        if rest is None:
            continue
        named = [a for a in arguments(source[call.end() + rest.end() :]) if LITERAL.search(a)]
        if named:
            names.add("." * (call[1] in RELATIVE) + "".join(LITERAL.findall(named[0])))
    return sorted(names)


def files() -> list[str]:
    """The source files of Nav2 in the table of nodes and plugins."""
    facts = YAML(typ="safe").load(DATA / "nav2_parameters.yaml")
    nodes = [node for node in facts["nodes"].values() if node["source"] == "navigation2"]
    return sorted({file for owner in (*nodes, *facts["plugins"].values()) for file in owner["files"]})


def main(checkout: str) -> None:
    """Writes one table per release."""
    for distribution, version in RELEASES.items():
        table = {}
        for file in files():
            shown = subprocess.run(
                ["git", "-C", checkout, "show", f"{version}:{file}"], capture_output=True, text=True, check=False
            )
            if shown.returncode == 0:
                table[file] = declared(shown.stdout)
        if not table:
            sys.exit(f"{checkout}: has no tag {version} of navigation2; fetch its tags")
        text = json.dumps({"version": version, "files": table}, indent=1)
        (DATA / "nav2" / f"{distribution}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
