# SPDX-License-Identifier: Apache-2.0
"""The gamepad map as a picture, from the table in core/steering/gamepad_map.py.

`python docs/figures/drawings/gamepad.py` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from hexapod_control.core.steering.gamepad_map import AXES, BUTTONS, GamepadControl

PICTURE = Path(__file__).parents[2] / "images" / "gamepad.svg"
WIDTH, HEIGHT, MARGIN = 1080, 520, 70
LEFT, RIGHT = 300, WIDTH - 300  # where the texts end and begin
LINE = 17
# Group of labels: its place on the pad, and which side its text stands on, from top to bottom.
PLACES = {
    "LT": (425, 62, "left"),
    "L1": (425, 108, "left"),
    "left stick": (430, 225, "left"),
    "D-pad": (480, 310, "left"),
    "Back": (505, 152, "left"),
    "RT": (655, 62, "right"),
    "R1": (655, 108, "right"),
    "Start": (575, 152, "right"),
    "Y": (650, 185, "right"),
    "X": (611, 222, "right"),
    "B": (690, 222, "right"),
    "A": (650, 260, "right"),
    "right stick": (600, 310, "right"),
}
ORDER = {
    "left": ("LT", "L1", "Back", "left stick", "D-pad"),
    "right": ("RT", "R1", "Start", "Y", "X", "B", "A", "right stick"),
}
BODY = (
    "M400 130 Q540 108 680 130 Q760 140 790 270 Q820 400 770 425 Q730 440 690 380 Q675 358 640 355 "
    "L440 355 Q405 358 390 380 Q350 440 310 425 Q260 400 290 270 Q320 140 400 130 Z"
)


def texts(group: str) -> Iterator[str]:
    """What the controls of a group do."""
    rows: tuple[GamepadControl, ...] = (*BUTTONS.values(), *AXES.values())
    for row in rows:
        if row.label == group:
            yield row.action
        elif row.label.startswith(f"{group} "):
            yield f"{row.label.removeprefix(group).strip()}: {row.action}"


def _shapes() -> Iterator[str]:
    for name in ("LT", "L1", "RT", "R1"):
        x, y, _ = PLACES[name]
        height = 30 if name.endswith("T") else 20
        yield f'<rect x="{x - 42}" y="{y - height / 2:g}" width="84" height="{height}" rx="8" class="key"/>'
        yield f'<text x="{x}" y="{y + 5}" class="on">{name}</text>'
    for name in ("left stick", "right stick"):
        x, y, _ = PLACES[name]
        yield f'<circle cx="{x}" cy="{y}" r="34" class="key"/><circle cx="{x}" cy="{y}" r="22" class="key"/>'
    x, y, _ = PLACES["D-pad"]
    yield f'<path d="M{x - 11} {y - 33}h22v22h22v22h-22v22h-22v-22h-22v-22h22z" class="key"/>'
    for name in "AXYB":
        x, y, _ = PLACES[name]
        yield f'<circle cx="{x}" cy="{y}" r="17" class="{"stop" if name == "B" else "key"}"/>'
        yield f'<text x="{x}" y="{y + 5}" class="on">{name}</text>'
    for name in ("Back", "Start"):
        x, y, _ = PLACES[name]
        yield f'<rect x="{x - 24}" y="{y - 9}" width="48" height="18" rx="9" class="key"/>'
        yield f'<text x="{x}" y="{y + 4}" class="small">{name}</text>'


def _callouts(side: str) -> Iterator[str]:
    lines = {group: list(texts(group)) for group in ORDER[side]}
    free = HEIGHT - 40 - sum(LINE * (len(text) + 1) for text in lines.values())
    gap, y = free / (len(lines) - 1), 32.0
    x, anchor = (LEFT - 48, "end") if side == "left" else (RIGHT + 48, "start")
    edge = x + (8 if side == "left" else -8)
    for group, text in lines.items():
        px, py, _ = PLACES[group]
        yield f'<path d="M{edge} {y - 5:g}L{px} {py}" class="line"/>'
        yield f'<text x="{x}" y="{y:g}" text-anchor="{anchor}" class="label">{escape(group)}</text>'
        for line in text:
            y += LINE
            yield f'<text x="{x}" y="{y:g}" text-anchor="{anchor}">{escape(line)}</text>'
        y += LINE + gap


def picture() -> str:
    """The picture as SVG."""
    missing = {row.label for row in (*BUTTONS.values(), *AXES.values())} - {
        label for group in PLACES for label in (group, *(f"{group} {way}" for way in ("up", "down", "left", "right")))
    }
    if missing:
        raise ValueError(f"no place on the picture for {', '.join(sorted(missing))}: add it to PLACES and ORDER")
    style = (
        "text{font:13px sans-serif;fill:#222}.label{font-weight:bold;font-size:14px}.on,.small{text-anchor:middle}"
        ".small{font-size:11px}.body{fill:#e8eaee;stroke:#667;stroke-width:2}.key{fill:#fff;stroke:#667;stroke-width:2}"
        ".stop{fill:#f4b6b0;stroke:#a22;stroke-width:2}.line{fill:none;stroke:#579;stroke-width:1.2}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{MARGIN} 0 {WIDTH + 2 * MARGIN} {HEIGHT}" role="img">',
        "<title>What the controls of a gamepad do</title>",
        f"<style>{style}</style>",
        f'<rect x="-{MARGIN}" width="{WIDTH + 2 * MARGIN}" height="{HEIGHT}" rx="10" fill="#fff"/>',
        f'<path d="{BODY}" class="body"/>',
        *_callouts("left"),
        *_callouts("right"),
        *_shapes(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
