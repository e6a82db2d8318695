# SPDX-License-Identifier: Apache-2.0
"""The plots of docs/how-it-walks.md and docs/your-own-gait.md: `python docs/figures/plots.py` (needs matplotlib).

Made by the core alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from hexapod_control.cli.robot_files import gaits
from hexapod_control.config.robots.robot_file import from_text, load, resolve
from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.se2 import Pose, Twist, exp
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.walk_controller import Capabilities
from hexapod_control.evaluation.robot_check.steady_walk import standing_start

IMAGES = Path(__file__).parent.parent / "images"
DT = 0.02  # [s]
ORIGIN = Pose(0.0, 0.0, 0.0)
ARC = Twist(0.1, 0.0, 0.2)
STYLES = {  # of gaits that do not have the next colour
    "tripod": {"color": "#d1495b"},
    "ripple": {"color": "#edae49", "linewidth": 4, "alpha": 0.6},  # the same speeds as tetrapod
    "tetrapod": {"color": "#00798c"},
    "wave": {"color": "#30638e"},
}
LEGS = ("#2e8b57", "#46a86f", "#6cc08b", "#e4572e", "#ec7a58", "#f2a088")  # left green, right red, as in the films
FIXED = ", fixed footholds"


def drive(robot: Robot, twist: Twist, seconds: float) -> Iterator[tuple[Pose, TickPlan]]:
    """Pose of base_footprint in the world and plan, tick by tick, from standing."""
    planner, _ = standing_start(robot)
    planner.command(twist)
    pose = ORIGIN
    for _ in range(round(seconds / DT)):
        plan = planner.step(DT)
        pose = pose @ exp(plan.twist, DT)
        yield pose, plan


def _body(axes: Axes, robot: Robot, pose: Pose, alpha: float) -> None:
    x, y = robot.body.size[0] / 2, robot.body.size[1] / 2
    corners = [pose.apply(*corner) for corner in ((x, y), (x, -y), (-x, -y), (-x, y), (x, y))]
    axes.fill(*zip(*corners, strict=True), color="#333333", alpha=alpha, linewidth=0)


def paths(robot: Robot) -> None:
    """Foot paths of an arc, seen from above: in the body's frame, and in the world."""
    frames = list(drive(robot, ARC, 8.0))
    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2))
    stances = Capabilities.of(robot).neutral_stance
    for (x, y), radius in zip(stances.footholds, stances.radii, strict=True):
        left.add_patch(plt.Circle((x, y), radius, color="#000000", alpha=0.06, linewidth=0))
        left.plot(x, y, "+", color="#666666", markersize=6)
    steady = frames[-200:]
    for leg, colour in enumerate(LEGS):
        for place, flight in ((True, 2.2), (False, 0.9)):
            points = np.array([p.contacts[leg] if p.planted[leg] is place else (np.nan,) * 2 for _, p in steady])
            left.plot(*points.T, color=colour, linewidth=flight)
        way = np.array([pose.apply(*plan.contacts[leg]) for pose, plan in frames])
        down = np.array([plan.planted[leg] for _, plan in frames])
        right.plot(*np.where(down[:, None], np.nan, way).T, color=colour, linewidth=0.9)
        right.plot(*way[down].T, ".", color=colour, markersize=5)
    _body(left, robot, ORIGIN, 0.25)
    for pose, _ in frames[:: len(frames) // 6]:
        _body(right, robot, pose, 0.13)
    right.plot(*np.array([pose[:2] for pose, _ in frames]).T, "--", color="#333333", linewidth=1)
    left.set_title("seen from the body: thick = stance, thin = swing,\ngrey disc = stance region, + = neutral foothold")
    right.set_title("seen from the ground: every stance is one point")
    for axes in (left, right):
        axes.set_aspect("equal")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        axes.grid(alpha=0.2)
    _save(fig, "paths.png")


def diagram(robot: Robot) -> None:
    """When which foot stands, in every gait, with the static margin."""
    gaits.plot(Capabilities.of(robot), IMAGES / "gaits.png")
    print(IMAGES / "gaits.png")


def own_gait() -> None:
    """The same of phantomx with the gait that docs/your-own-gait.md appends to its file."""
    page = (IMAGES.parent / "your-own-gait.md").read_text(encoding="utf-8")
    (gait,) = re.findall(r"^```yaml\n(gaits:\n.*?)^```", page, re.S | re.M)
    path = resolve("phantomx")
    robot = from_text(path, f"{path.read_text(encoding='utf-8')}\n{gait}").robot
    gaits.plot(Capabilities.of(robot), IMAGES / "own-gait.png")
    print(IMAGES / "own-gait.png")


def envelope(robot: Robot) -> None:
    """Fastest walk in every direction, and how turning costs speed forward."""
    capabilities = Capabilities.of(robot)
    height = robot.walk.height

    def most(name: str, direction: Twist) -> Twist:
        gait = capabilities.gaits[name.removesuffix(FIXED)]
        region_share = 1.0 if name.endswith(FIXED) else capabilities.region_share(gait)
        return capabilities.envelope.limit(gait, height, region_share, direction.scaled(10.0)).twist

    fig = plt.figure(figsize=(11, 4.4))
    left, right = fig.add_subplot(1, 2, 1), fig.add_subplot(1, 2, 2)
    lines = {name: STYLES.get(name, {}) for name in capabilities.gaits}
    lines[f"tripod{FIXED}"] = {**STYLES["tripod"], "linestyle": ":"}
    for name, style in lines.items():
        angles = np.linspace(0.0, math.tau, 181)
        fastest = [most(name, Twist(math.cos(a), math.sin(a), 0.0)) for a in angles]
        left.plot([-t.vy for t in fastest], [t.vx for t in fastest], label=name, **style)
        mixed = [most(name, Twist(math.cos(a), 0.0, 5.0 * math.sin(a))) for a in np.linspace(0.0, math.pi / 2, 91)]
        right.plot([t.wz for t in mixed], [t.vx for t in mixed], **style)
    left.set(aspect="equal", xlabel="to the right [m/s]", ylabel="forward [m/s]", title="without turning")
    right.set(xlabel="turn [rad/s]", ylabel="forward [m/s]", title="turning while walking")
    right.legend(left.get_lines(), list(lines), frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.2)
    _save(fig, "speeds.png")


def swing(robot: Robot) -> None:
    """Height of a foot over its way, in the body's frame, straight walk."""
    frames = list(drive(robot, Twist(0.1, 0.0, 0.0), 5.0))[-46:]
    fig, axes = plt.subplots(figsize=(7, 2.2))
    placement = Placement(frames[-1][1].pose, robot.walk.height)
    points = [placement.to_footprint(*plan.feet[0]) for _, plan in frames if plan.feet is not None]
    way, heights = [1e3 * x for x, _, _ in points], [1e3 * (z - robot.foot_radius) for _, _, z in points]
    axes.plot(way, heights, ".-", color=LEGS[0])
    axes.set(xlabel="x in base_footprint [mm]", ylabel="height [mm]")
    axes.grid(alpha=0.2)
    _save(fig, "swing.png")


def _save(fig: plt.Figure, name: str) -> None:
    fig.tight_layout()
    fig.savefig(IMAGES / name, dpi=110)
    plt.close(fig)
    print(IMAGES / name)


if __name__ == "__main__":
    machine = load("phantomx").robot
    for plot in (paths, diagram, envelope, swing):
        plot(machine)
    own_gait()
