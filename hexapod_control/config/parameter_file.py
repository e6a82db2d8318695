# SPDX-License-Identifier: Apache-2.0
"""The sections of a ROS parameter file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hexapod_control.config.document import DocumentEntry, read
from hexapod_control.config.errors import FileError

OF_A_NODE = "ros__parameters"  # the key below the name of a node


def node_sections(path: Path) -> Iterator[tuple[str, DocumentEntry]]:
    """Yields name, without namespace, and parameters of each node in a file; nothing for a file that ROS refuses."""
    try:
        yield from _sections(read(path))
    except FileError:
        return


def _sections(entry: DocumentEntry) -> Iterator[tuple[str, DocumentEntry]]:
    for name, child in entry.children.items():
        if OF_A_NODE in child.children:
            yield name.rpartition("/")[2], child.children[OF_A_NODE]
        else:
            yield from _sections(child)
