# SPDX-License-Identifier: Apache-2.0
"""What pages keep on the robot: dances, profiles, and settings in its robot file.

A dance is a motion file with one or two tracks of steps, played by gait_planner as any other motion. A profile is a
JSON file of settings, which a page applies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from std_msgs.msg import String

from hexapod_control.config.bounded_yaml import UnusableFileError, UnusableYamlError, parse, parser, read_text
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.robots.robot_file import from_text
from hexapod_control.config.section_writer import own_file, save_text, with_values
from hexapod_control.config.sentence import TEXTS, in_language
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.core.names import file_stem
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.web.protocol import DANCE_STEPS, DanceMessage, DanceSteps, ProfileMessage

BATTERY_KEYS = ("warn", "critical")  # [V] of servos.battery in a robot file
RUN = "        - repeat:\n            times: 1\n            steps:\n"
Sender = Callable[[int, str, Mapping[str, Any]], None]
"""`send(client, kind, fields)` sends a message to a page, 0 for all."""


class KeptFiles:
    """The files of one kind in a folder, each with a name from a page; all pages get the list after a change."""

    def __init__(
        self,
        node: GuardedNode,
        kind: str,
        template: Path,
        read: Callable[[str], dict[str, Any] | None],
        send: Sender,
    ) -> None:
        """`kind` is that of the message with the list; `template` has folder, suffix and the name of a nameless file.

        `read` returns what pages get of a file with that text, None for one that they cannot show.
        """
        self._node = node
        self._kind = kind
        self._template = template
        self._read = read
        self._send = send

    def save(self, name: str, text: str) -> None:
        """Writes a file, in place of one with that name."""
        self._change(lambda path: _written(path, text), name)

    def delete(self, name: str) -> None:
        """Removes a file."""
        self._change(lambda path: path.unlink(missing_ok=True), name)

    def _change(self, change: Callable[[Path], None], name: str) -> None:
        path = self._template.with_stem(file_stem(name, self._template.stem))
        self._node.threads.run_outside(lambda: change(path), lambda done: self.send_list())

    def send_list(self) -> None:
        """Sends the list to all pages, a new one among them."""
        self._node.threads.run_outside(self._found, lambda found: self._send(0, self._kind, {"list": found}))

    def _found(self) -> list[dict[str, Any]]:
        paths = sorted(self._template.parent.glob(f"*{self._template.suffix}"))
        return [{"name": path.stem, "saved": _time(path), **shown} for path in paths if (shown := self._shown(path))]

    def _shown(self, path: Path) -> dict[str, Any] | None:
        try:
            return self._read(read_text(path))
        except (OSError, UnusableFileError, UnusableYamlError, LookupError, TypeError, ValueError, AttributeError):
            return None  # as after a change by hand


class Dances:
    """Plays, saves and deletes dances, and tells pages which there are."""

    def __init__(
        self, node: GuardedNode, height: float, folder: Path, play: Callable[[String], None], send: Sender
    ) -> None:
        """`height` [m] is that of the robot, to which lengths of the steps refer; `play` publishes a motion."""
        self._height = height
        self._play = play
        self._template = folder / "dance.yaml"
        self.files = KeptFiles(node, "dances", self._template, _dance, send)

    def execute(self, message: DanceMessage) -> None:
        """Carries out a request of a page."""
        tracks = [track for track in (message.steps, message.legs) if track]
        text = motion_text(message.name, self._height, tracks, message.beats)
        if message.act == "play" and tracks:
            file = f"{file_stem(message.name, self._template.stem)}.yaml"
            self._play(messages.text(MotionRequest(file=file, text=text).data))
        elif message.act == "save" and tracks:
            self.files.save(message.name, text)
        elif message.act == "delete":
            self.files.delete(message.name)


class Profiles:
    """Saves and deletes settings, and tells pages which there are."""

    def __init__(self, node: GuardedNode, folder: Path, send: Sender) -> None:
        """`folder` is that of the files."""
        self.files = KeptFiles(node, "profiles", folder / "profile.json", _profile, send)

    def execute(self, message: ProfileMessage) -> None:
        """Carries out a request of a page."""
        if message.act == "save":
            self.files.save(message.name, json.dumps({"gait": message.gait, "values": message.values}, indent=2))
        else:
            self.files.delete(message.name)


class RobotFileSettings:
    """Writes settings of pages into the user's own robot file; they hold from the next start of the robot."""

    def __init__(self, node: GuardedNode, robot: str, refuse: Sender, log: Callable[..., None]) -> None:
        """`robot` is the name or path with which the node was started; `log(level, key, values)` adds an event."""
        self._node = node
        self._robot = robot
        self._refuse = refuse
        self._log = log
        self._backup: Path | None = None  # of the last change

    def execute(self, page: int, message: ProfileMessage) -> None:
        """Carries out a request of a page."""
        changes: dict[tuple[str, ...], Any] = {
            ("servos", "battery", key): message.values[key] for key in BATTERY_KEYS if key in message.values
        }
        if message.gait:
            changes["walk", "gait"] = message.gait
        restores = message.act == "restore"
        if changes or restores:
            self._node.threads.run_outside(
                lambda: self._written(changes, restores=restores), lambda outcome: self._tell(page, *outcome)
            )

    def _written(self, changes: Mapping[tuple[str, ...], Any], *, restores: bool) -> tuple[bool, dict[str, Any]]:
        try:
            path = own_file(self._robot)
            source = self._backup if restores and self._backup else path
            text = read_text(source, newline="")
            new = text if restores else with_values(text, changes)
            servo_settings(from_text(path, new))  # what the driver would refuse is not written
            backup = save_text(path, new, "servos.battery")
        except RobotFileError as error:
            said = error.said.as_json()
            return False, {"text": str(error), "texts": {language: in_language(language, said) for language in TEXTS}}
        except (OSError, UnusableFileError, UnusableYamlError) as error:
            return False, {"text": str(error)}
        self._backup = backup
        return True, {"file": path.name, "backup": backup.name}

    def _tell(self, page: int, ok: bool, values: dict[str, Any]) -> None:
        if ok:
            self._log(ReportLevel.OK, "log_robot_file", values)
        else:
            self._refuse(page, "answer", {"what": "robot file", "ok": False, **values})


def motion_text(name: str, height: float, tracks: Sequence[DanceSteps], beats: Sequence[float] = ()) -> str:
    """The motion file of a dance with the beats [s] of its music, for a robot of that height [m].

    Two tracks run at the same time, each as a repetition of one round.
    """
    if len(tracks) > 1:
        repeats = "".join(f"{RUN}{_rows(track, 14)}" for track in tracks)
        steps = f"  - together:\n      steps:\n{repeats}"
    else:
        steps = "".join(_rows(track, 2) for track in tracks)
    word = re.sub(r"^(?![A-Za-z])", "dance_", re.sub(r"[^A-Za-z0-9_]", "_", file_stem(name, "dance")))
    head = f"name: {word}\ndescription: Composed on the page.\nfor_height: {height:.6g}\n"
    if beats:
        head += f"beats: [{', '.join(f'{beat:.6g}' for beat in beats)}]\n"
    return f"{head}steps:\n{steps}"


def _rows(steps: DanceSteps, indentation: int) -> str:
    values = ((kind, ", ".join(f"{k}: {_value(v)}" for k, v in step[kind].items())) for step in steps for kind in step)
    return "".join(f"{' ' * indentation}- {kind}: {{{text}}}\n" for kind, text in values)


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _time(path: Path) -> float:
    with suppress(FileNotFoundError):  # it was deleted meanwhile
        return path.stat().st_mtime
    return 0.0


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text)


def _dance(text: str) -> dict[str, Any] | None:
    """Steps of both tracks, beats and text of a dance; `legs` is missing from a dance with one track."""
    read = parse(text, parser("safe"))
    found = read["steps"]
    if len(found) == 1 and "together" in found[0]:
        first, second = (each["repeat"] for each in found[0]["together"]["steps"])
        tracks = {"steps": _steps(first["steps"]), "legs": _steps(second["steps"])}
        known = first["times"] == second["times"] == 1
    else:
        tracks = {"steps": _steps(found)}
        known = True
    known = known and all(
        len(step) == 1 and set(step) <= set(DANCE_STEPS) for track in tracks.values() for step in track
    )
    return {**tracks, "beats": [float(beat) for beat in read.get("beats", ())], "text": text} if known else None


def _steps(found: Any) -> list[dict[str, dict[str, float | str]]]:
    return [
        {kind: {k: str(v) if k == "name" else float(v) for k, v in values.items()} for kind, values in step.items()}
        for step in found
    ]


def _profile(text: str) -> dict[str, Any]:
    """Gait and values of a profile."""
    found = json.loads(text)
    return {"gait": str(found["gait"]), "values": {str(k): float(v) for k, v in found["values"].items()}}
