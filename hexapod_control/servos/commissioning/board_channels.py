# SPDX-License-Identifier: Apache-2.0
"""Boards and channels of hobby servos, which report nothing: the operator names the channels with a servo."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import quoted
from hexapod_control.servos.calibration.dialog import Back, Choice, Dialog, Prompt, Typed
from hexapod_control.servos.line_search import ranges
from hexapod_control.servos.settings.servo_section import ServoSettings

RUN = re.compile(r"([0-9]{1,3})(?:\s*-\s*([0-9]{1,3}))?")
NO_CHANNEL = Choice(("none",), Sentence("no_channel"))


class ChannelsError(ValueError):
    """An answer that names no channels of a board, with a sentence."""


def ask_channels(
    dialog: Dialog, boards: Sequence[str], size: int, joints: int, known: Sequence[int] = ()
) -> tuple[int, ...]:
    """Ids of the channels with a servo, one for each of `joints`; asks again until their number fits.

    `boards` are the names of boards of `size` channels, in the order of their ids; `known` are the ids used so far.
    Raises Back at the first question, Abandoned if the operator quits.
    """
    proposed = list(known) or spread(joints, len(boards), size)
    while True:
        found: list[int] = []
        number = 0
        while number < len(boards):
            own = [servo % size for servo in proposed if servo // size == number]
            try:
                channels = _ask_board(dialog, boards[number], own, size)
            except Back:
                if not number:
                    raise
                number -= 1
                found = [servo for servo in found if servo // size < number]
                continue
            found += [size * number + channel for channel in channels]
            number += 1
        if len(found) == joints:
            return tuple(found)
        dialog.say(Sentence("channel_count", count=len(found), joints=joints))
        proposed = found


def _ask_board(dialog: Dialog, board: str, proposed: Sequence[int], size: int) -> list[int]:
    """Channels of one board."""
    usual = Choice((listed(proposed),), Sentence.of(listed(proposed))) if proposed else NO_CHANNEL
    question = Sentence("channels_of_board", board=board, last=size - 1)
    choices = (usual,) if usual is NO_CHANNEL else (usual, NO_CHANNEL)
    while True:
        answer = dialog.ask(Prompt(question, choices, Typed.TEXT, hint=usual.word), Sentence("help_channels"))
        if answer is NO_CHANNEL:
            return []
        try:
            return channels(answer if isinstance(answer, str) else answer.word, size)
        except ChannelsError as error:
            dialog.say(Sentence("aside", said=Sentence.of(error)))


def channels(text: str, size: int) -> list[int]:
    """The channels in a text such as `0-8, 11`, of a board with `size`, in order. Raises ChannelsError."""
    found: set[int] = set()
    for part in filter(None, re.split(r"[,;\s]+", re.sub(r"\s*-\s*", "-", text.strip()))):
        run = RUN.fullmatch(part)
        first = int(run[1]) if run else size
        last = int(run[2] or first) if run else size
        if not first <= last < size:
            raise ChannelsError(Sentence("no_channels", answer=quoted(part), last=size - 1))
        found |= set(range(first, last + 1))
    if not found:
        raise ChannelsError(Sentence("no_channels", answer=quoted(text), last=size - 1))
    return sorted(found)


def listed(found: Sequence[int]) -> str:
    """Channels as a text such as `0-8,11`."""
    return ranges(found).replace(" ", "")


def spread(joints: int, boards: int, size: int) -> list[int]:
    """Ids if whole legs of three joints are shared out evenly between boards, from their channel 0 on."""
    legs = joints // 3
    counts = [3 * (legs // boards + (board < legs % boards)) for board in range(boards)]
    return [size * board + channel for board, count in enumerate(counts) for channel in range(min(count, size))]


def on_channels(settings: ServoSettings, ids: Sequence[int], addresses: Sequence[int], *, keep: bool) -> ServoSettings:
    """The settings with one joint on each of these channels; with `keep`, joints that are there already stay.

    `addresses` are those of the boards, if they have some.
    """
    staying = set(settings.ids) & set(ids) if keep else set()
    free = iter([servo for servo in ids if servo not in staying])
    joints = tuple(j if j.id in staying else dataclasses.replace(j, id=next(free)) for j in settings.joints)
    options = {**dict(settings.options), **({"addresses": tuple(addresses)} if addresses else {})}
    return dataclasses.replace(settings, joints=joints, options=tuple(options.items()))
