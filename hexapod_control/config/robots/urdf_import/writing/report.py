# SPDX-License-Identifier: Apache-2.0
"""The report of an import: values read, assumed, and to be measured, as text and as a page with views."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from hexapod_control.config.robots.draft.robot_draft import Origin
from hexapod_control.config.robots.draft.stance_search import draft_robot
from hexapod_control.config.robots.draft.views import views_svg
from hexapod_control.config.robots.urdf_import.findings import ImportedRobot, ImportFinding
from hexapod_control.core.names import JOINTS

TITLES = {
    Origin.READ: "Read from the URDF",
    Origin.GIVEN: "Given as options",
    Origin.ASSUMED: "Assumed, because the URDF does not say",
    Origin.MEASURE: "To be measured",
}
STYLE = (
    "body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}td,th{padding:.2em .8em;text-align:left}"
)


def all_findings(robot: ImportedRobot) -> Iterator[ImportFinding]:
    """The findings of the import, and one for each value that is not kinematics."""
    yield from robot.findings
    values = {
        "mass of the body": (robot.body.mass, "kg"),
        **{f"mass of a {part}": (robot.masses[part], "kg") for part in JOINTS},
        "radius of the feet": (robot.radii["foot"], "m"),
        "no-load speed of the servos": (robot.servo.speed, "rad/s"),
        "stall torque of the servos": (robot.servo.torque, "N m"),
        "stiffness of the servos": (robot.servo.stiffness, "N m/rad"),
    }
    for what, (noted, unit) in values.items():
        text = f"{what} {noted.value:.4g} {unit}"
        yield ImportFinding(noted.origin, f"{text}: {noted.note}" if noted.note else text)
    yield ImportFinding(Origin.ASSUMED, "thickness of the legs, position of the IMU, swing time and lift height")
    for error in robot.unusual:
        yield ImportFinding(Origin.MEASURE, f"unusual, compare it with the robot: {error.key} {error.text}")
    names = ", ".join(f"{name} at {angle:g} rad" for name, angle in robot.fixed.items())
    if names:
        yield ImportFinding(Origin.ASSUMED, f"joints that no leg moves: {names}")


def sections(robot: ImportedRobot) -> Iterator[tuple[str, list[str]]]:
    """Title and lines of each non-empty part of the report."""
    found = list(all_findings(robot))
    for origin, title in TITLES.items():
        lines = [finding.text for finding in found if finding.origin is origin]
        if lines:
            yield title, lines


def report_page(robot: ImportedRobot) -> str:
    """One self-contained page."""
    parts = [f"<!doctype html><meta charset=utf-8><title>{escape(robot.name)}</title><style>{STYLE}</style>"]
    parts.append(f"<h1>{escape(robot.name)}</h1><p>Imported from {escape(robot.tree.path.name)}.</p>")
    parts.append(views_svg(draft_robot(robot)))
    for title, lines in sections(robot):
        parts.append(f"<h2>{title}</h2><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>")
    parts += ["<h2>Legs</h2><table><tr><th>leg<th>joint of the URDF<th>sign<th>zero [deg]<th>range [deg]</tr>"]
    for name, leg in robot.legs.items():
        for joint in leg.joints:
            cells = (
                name,
                joint.name,
                f"{joint.sign:+d}",
                f"{math.degrees(joint.offset):.2f}",
                _range(joint.lower, joint.upper),
            )
            parts.append("<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells) + "</tr>")
    return "\n".join((*parts, "</table>", ""))


def _range(lower: float, upper: float) -> str:
    return f"{lower:.1f} to {upper:.1f}"
