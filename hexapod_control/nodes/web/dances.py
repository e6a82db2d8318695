# SPDX-License-Identifier: Apache-2.0
"""Dances that pages compose: motion files of steps one after the other, played by gait_planner as any other motion."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from std_msgs.msg import String

from hexapod_control.config.bounded_yaml import UnusableFileError, UnusableYamlError, parse, parser, read_text
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.core.names import file_stem
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.web.protocol import DANCE_STEPS, DanceMessage

UNNAMED = "dance"


class Dances:
    """Plays, saves and deletes dances, and tells pages which there are."""

    def __init__(
        self,
        node: GuardedNode,
        height: float,
        folder: Path,
        play: Callable[[String], None],
        send: Callable[[int, str, Mapping[str, Any]], None],
    ) -> None:
        """`height` [m] is that of the robot, to which lengths of the steps refer; `play` publishes a motion.

        `send(client, kind, fields)` sends a message to a page, 0 for all.
        """
        self._node = node
        self._height = height
        self._folder = folder
        self._play = play
        self._send = send

    def execute(self, message: DanceMessage) -> None:
        """Carries out a request of a page."""
        text = motion_text(message.name, self._height, message.steps)
        if message.act == "play" and message.steps:
            self._play(messages.text(MotionRequest(file=f"{file_stem(message.name, UNNAMED)}.yaml", text=text).data))
        elif message.act == "save" and message.steps:
            self._change(lambda path: _written(path, text), message.name)
        elif message.act == "delete":
            self._change(lambda path: path.unlink(missing_ok=True), message.name)

    def _change(self, change: Callable[[Path], None], name: str) -> None:
        path = self._folder / f"{file_stem(name, UNNAMED)}.yaml"
        self._node.threads.run_outside(lambda: change(path), lambda done: self.send_list())

    def send_list(self) -> None:
        """Sends the list to all pages, a new one among them."""
        self._node.threads.run_outside(self._found, lambda found: self._send(0, "dances", {"list": found}))

    def _found(self) -> list[dict[str, Any]]:
        return [{"name": path.stem, **dance} for path in sorted(self._folder.glob("*.yaml")) if (dance := _read(path))]


def motion_text(name: str, height: float, steps: Sequence[Mapping[str, Mapping[str, float]]]) -> str:
    """The motion file of a dance, for a robot of that height [m]."""
    rows = [
        f"  - {kind}: {{{', '.join(f'{key}: {value:.6g}' for key, value in values.items())}}}\n"
        for step in steps
        for kind, values in step.items()
    ]
    word = re.sub(r"^(?![A-Za-z])", "dance_", re.sub(r"[^A-Za-z0-9_]", "_", file_stem(name, UNNAMED)))
    head = f"name: {word}\ndescription: Composed on the page.\nfor_height: {height:.6g}\n"
    return f"{head}steps:\n{''.join(rows)}"


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text)


def _read(path: Path) -> dict[str, Any] | None:
    """Steps and text of a dance; None for a file that the page cannot show, as after a change by hand."""
    try:
        text = read_text(path)
        found = parse(text, parser("safe"))["steps"]
        steps = [{kind: {k: float(v) for k, v in values.items()} for kind, values in step.items()} for step in found]
    except (OSError, UnusableFileError, UnusableYamlError, LookupError, TypeError, ValueError, AttributeError):
        return None
    known = all(len(step) == 1 and set(step) <= set(DANCE_STEPS) for step in steps)
    return {"steps": steps, "text": text} if known else None
