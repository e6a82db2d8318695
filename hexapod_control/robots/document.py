"""A YAML file as a tree of entries that remember the key and the line they stand at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from hexapod_control.robots.error import RobotFileError


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of the file. The value of a section is a dict of its entries, in file order."""

    path: Path
    key: str  # dotted, from the top of the file; "" is the file itself
    line: int  # from 1
    value: object

    @property
    def children(self) -> dict[str, Entry]:
        """Entries of a section; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def is_section(self) -> bool:
        """True for a mapping."""
        return isinstance(self.value, dict)

    def error(self, *sentence: str, below: str = "") -> RobotFileError:
        """The error at this place, or at a key `below` it that does not stand in the file."""
        return RobotFileError(self.path, self.line, join(self.key, below), *sentence)


def join(key: str, below: str) -> str:
    """Dotted key of something below a key."""
    return ".".join(part for part in (key, below) if part)


def read(path: Path) -> Entry:
    """The file as a section. Raises RobotFileError if it is unreadable, no YAML, or no mapping."""
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    try:
        document = yaml.load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RobotFileError(path, None, "", "there is no such file") from None
    except OSError as error:
        raise RobotFileError(path, None, "", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RobotFileError(path, None, "", "is not text in UTF-8", "a robot file is YAML") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise RobotFileError(path, line, "", f"is not valid YAML: {error.problem or error.context}") from error
    except YAMLError as error:
        raise RobotFileError(path, None, "", f"is not valid YAML: {str(error).splitlines()[0]}") from error
    if document is None:
        raise RobotFileError(path, None, "", "is empty", "copy config/robots/phantomx.yaml and edit it")
    root = _entry(path, "", 1, document)
    if not root.is_section:
        raise root.error("must be a mapping of keys at the top", "copy config/robots/phantomx.yaml and edit it")
    return root


def _entry(path: Path, key: str, line: int, node: object) -> Entry:
    if not isinstance(node, CommentedMap):
        return Entry(path, key, line, node)
    children = {}
    for name, child in node.items():
        place = node.lc.data.get(name)  # a key that comes from a merge (<<) has none
        child_line = place[0] + 1 if place else line
        children[str(name)] = _entry(path, join(key, str(name)), child_line, child)
    return Entry(path, key, line, children)


def merge(common: Entry, own: Entry) -> Entry:
    """`common` overridden by `own`, section by section; each entry keeps the place where it stands."""
    if not (common.is_section and own.is_section):
        return own
    merged = dict(common.children)
    for name, child in own.children.items():
        merged[name] = merge(merged[name], child) if name in merged else child
    return Entry(common.path, common.key, common.line, merged)


def plain(node: object) -> object:
    """A section no code here interprets, as plain dicts, lists and scalars."""
    if isinstance(node, Entry):
        return plain(node.value)
    if isinstance(node, dict):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(value) for value in node]
    for kind in (bool, int, float, str):  # ruamel's scalars are subclasses that remember their spelling
        if isinstance(node, kind):
            return kind(node)
    return node
