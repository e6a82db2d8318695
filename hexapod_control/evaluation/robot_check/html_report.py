# SPDX-License-Identifier: Apache-2.0
"""The remarks of a robot and its plots as one self-contained HTML page (needs matplotlib)."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Callable, Mapping, Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle

from hexapod_control.config.robots.draft.views import body_outline
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.names import JOINTS
from hexapod_control.evaluation.robot_check.checks import verdict
from hexapod_control.evaluation.robot_check.steady_walk import TICK_S
from hexapod_control.evaluation.robot_check.subject import Remark, Subject

DIRECTIONS = 24  # of the speed envelope
COLOURS = ("#d1495b", "#edae49", "#00798c")  # coxa, femur, tibia
BODY = "#30343c"
STYLE = """body{font:16px/1.5 sans-serif;max-width:1000px;margin:2em auto;padding:0 1em}td{padding:.2em .8em .2em 0;
vertical-align:top}.wrong,.problem{color:#b00020;font-weight:bold}.note{color:#8a5a00}svg{max-width:100%;height:auto}"""


def views(subject: Subject) -> Figure:
    """The standing robot from above and from the left, with the stance regions and the range of each coxa."""
    robot = subject.robot
    stance = subject.capabilities.neutral_stance
    figure, (above, side) = plt.subplots(1, 2, figsize=(10, 5))
    above.add_patch(Polygon([(-y, x) for x, y in body_outline(robot)], color=BODY))
    corner = [robot.body.center[axis] - robot.body.size[axis] / 2 for axis in (0, 2)]
    side.add_patch(Rectangle((corner[0], corner[1]), robot.body.size[0], robot.body.size[2], color=BODY))
    for axes, right, up, sign in ((above, 1, 0, -1.0), (side, 0, 2, 1.0)):
        for leg, row in zip(robot.legs, subject.standing, strict=True):
            points = [leg.hip, *(hip_to_base(leg, point) for point in leg_forward(leg, row))]
            axes.plot([sign * p[right] for p in points], [p[up] for p in points], color="#2a9468", marker="o", ms=3)
        axes.set(aspect="equal", xlabel="m", ylabel="m")
    for leg, (x, y), radius in zip(robot.legs, stance.footholds, stance.radii, strict=True):
        above.add_patch(Circle((-y, x), radius, fill=False, color="#00798c"))
        for angle in (leg.coxa_joint.lower, leg.coxa_joint.upper):
            heading = leg.hip_yaw + angle
            far = leg.coxa.length + leg.femur.length
            ends = (leg.hip[0] + far * math.cos(heading), leg.hip[1] + far * math.sin(heading))
            above.plot((-leg.hip[1], -ends[1]), (leg.hip[0], ends[0]), color="#bbbbbb", linewidth=0.8)
    above.set_title("above: stance regions, range of each coxa")
    side.axhline(-robot.walk.height, color="#888888")
    side.set_title("left side")
    return figure


def gait(subject: Subject) -> Figure:
    """Stance phases of all feet over a cycle of the walk."""
    figure, axes = plt.subplots(figsize=(10, 0.4 * len(subject.robot.legs) + 1.2))
    for row, leg in enumerate(subject.robot.legs):
        stands = [(k * TICK_S, TICK_S) for k, planted in enumerate(subject.walk.planted) if planted[row]]
        axes.broken_barh(stands, (row - 0.4, 0.8), color="#30638e")
        axes.text(-0.01, row, leg.name, ha="right", va="center")
    axes.set(title=f"{subject.walk.gait}: feet on the ground", xlabel="s", yticks=[])
    axes.invert_yaxis()
    return figure


def speed(subject: Subject) -> Figure:
    """Top speed in every direction, for all gaits."""
    figure, axes = plt.subplots(figsize=(5, 5))
    angles = np.linspace(0.0, math.tau, DIRECTIONS + 1)
    for name in subject.capabilities.gaits:
        top = [subject.capabilities.fastest(Twist(math.cos(a), math.sin(a), 0.0), [name]) for a in angles]
        axes.plot([-twist.vy for twist in top], [twist.vx for twist in top], label=name)
    axes.set(aspect="equal", title="top speed by direction, forward is up", xlabel="m/s", ylabel="m/s")
    axes.legend()
    return figure


def cycle(subject: Subject) -> Figure:
    """Margin, and angle, speed and torque of the joints of the first leg, over a cycle."""
    walk, torques = subject.walk, subject.torques
    time = np.arange(len(walk.joints)) * TICK_S
    figure, rows = plt.subplots(4, 1, figsize=(10, 10), sharex=True)
    rows[0].plot(time, 1e3 * np.array(walk.margins), color="#30343c")
    rows[0].set_ylabel("margin, mm")
    traces: tuple[tuple[str, Array], ...] = (
        ("angle, deg", np.degrees(walk.joints[:, 0])),
        ("speed, rad/s", walk.velocity[:, 0]),
        ("torque, N m", torques.cycle[:, 0]),
    )
    for axes, (label, values) in zip(rows[1:], traces, strict=True):
        for joint, name in enumerate(JOINTS):
            axes.plot(time, values[:, joint], color=COLOURS[joint], label=name)
        axes.set_ylabel(label)
    rows[1].legend()
    rows[0].set_title(f"{subject.robot.leg_names[0]}, {max(map(abs, walk.twist)):.3f} m/s in {walk.gait}")
    rows[-1].set_xlabel("s")
    return figure


PLOTS: Mapping[str, Callable[[Subject], Figure]] = {"views": views, "gait": gait, "speed": speed, "cycle": cycle}


def page(subject: Subject, remarks: Sequence[Remark]) -> str:
    """The page."""
    title = f"hexapod check {html.escape(subject.robot.name)}"
    lines = [
        f"<tr class={remark.seriousness.name.lower()}><td>{remark.seriousness.name.lower()}</td>"
        f"<td>{html.escape(remark.text)}.</td><td>{html.escape(remark.change)}</td></tr>"
        for remark in remarks
    ]
    plots = "\n".join(_svg(draw(subject)) for draw in PLOTS.values())
    head = f"<meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
    table = f"<p>{html.escape(verdict(subject, remarks))}</p><table>{''.join(lines)}</table>"
    return f"<!doctype html><html lang=en>{head}<h1>{title}</h1>{table}\n{plots}</html>\n"


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = stream.getvalue()
    return text[text.index("<svg") :]
