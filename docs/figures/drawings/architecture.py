# SPDX-License-Identifier: Apache-2.0
"""The drawings of docs/architecture.md as SVG: `python docs/figures/drawings/architecture.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from drawing import PALE, Box, Drawing

IMAGES = Path(__file__).parents[2] / "images" / "architecture"


def data_flow() -> None:
    """Nodes and topics, from the command to the servos and back."""
    d = Drawing(1080, 470, "Data flow: from commands through planner and kinematics to the servos, and back")
    sources = [
        d.box(Box(20, 30 + 62 * k, 150, 48, title, (line,), "input"))
        for k, (title, line) in enumerate(
            (
                ("teleop", "gamepad"),
                ("web", "page in the browser"),
                ("hexapod keyboard", "hexapod patrol, play"),
                ("Nav2", "or your own node"),
            )
        )
    ]
    planner = d.box(
        Box(330, 95, 170, 110, "gait_planner", ("one plan per tick, 50 Hz", "core/planner, core/walking"), "core")
    )
    d.box(Box(620, 95, 165, 110, "inverse_kinematics", ("feet to joint angles", "core/kinematics"), "core"))
    driver = d.box(Box(905, 60, 155, 70, "servo_driver", ("servo bus", "servos/")))
    simulator = d.box(Box(905, 170, 155, 70, "mujoco_sim", ("physics instead", "sim/")))
    d.box(Box(905, 10, 155, 30, "servos", (), "hardware"))
    odometry = d.box(Box(620, 330, 165, 80, "odometry", ("dead reckoning", "core/sensing"), "core"))
    out = d.box(Box(330, 340, 170, 60, "odom, /tf", ("to Nav2, RViz, page",), "note"))
    for source in sources:
        d.arrow(source.right, (210, source.right[1]), (210, 150), planner.left)
    d.text(270, 128, "cmd_vel", size=11.5, ink=PALE)
    d.text(270, 143, "body_pose", size=11.5, ink=PALE)
    d.text(270, 168, "gait, motion", size=11.5, ink=PALE)
    d.text(270, 183, "stand, sit, stop", size=11.5, ink=PALE)
    d.arrow((500, 130), (620, 130), label="foot_targets", at=(548, 124))
    d.arrow((500, 175), (620, 175), label="or joint_motion", at=(552, 169))
    d.arrow((785, 150), (845, 150), (845, 95), driver.left)
    d.arrow((785, 150), (845, 150), (845, 205), simulator.left)
    d.text(845, 145 - 68, "joint_targets", size=11.5, ink=PALE)
    d.arrow((965, 60), (965, 40))
    d.arrow((1000, 40), (1000, 60))
    d.arrow((982, 240), (982, 290), (415, 290), (415, 205), label="joint_states, foot_states, imu/data", at=(850, 283))
    d.arrow((1060, 95), (1072, 95), (1072, 290), (980, 290))
    d.arrow((700, 290), (700, 330))
    d.arrow(odometry.left, out.right)
    d.arrow((603, 130), (603, 355), (620, 355), label="foot_targets", at=(565, 350))
    d.arrow(
        (390, 205), (390, 285), (95, 285), (95, 264), label="gait_state, velocity_limits, motion_state", at=(240, 302)
    )
    d.text(240, 317, "to all sources", size=11.5, ink=PALE)
    d.text(
        20,
        440,
        "Blue and green boxes are processes; green ones mostly call core/. Names on arrows are topics and services.",
        anchor="start",
        ink=PALE,
    )
    d.text(
        20,
        458,
        "servo_driver and mujoco_sim offer the same topics and services and never run together.",
        anchor="start",
        ink=PALE,
    )
    d.save(IMAGES / "data-flow.svg")


LAYERS: tuple[tuple[tuple[str, str, str], ...], ...] = (
    (("cli", "the command hexapod: parse, call, report", "input"),),
    (
        ("evaluation", "figures of quality (physics) and of cost (performance)", "input"),
        ("learning", "the robot as an environment of Gymnasium", "hardware"),
    ),
    (("clients", "keyboard, motions, patrol, survey: nodes on the operator's side", "input"),),
    (
        ("nodes", "one folder per ROS node: convert, call core, publish", "node"),
        ("bringup", "which processes run, start and stop", "node"),
    ),
    (
        ("ros", "guarded node, parameters, messages, QoS", "node"),
        ("servos", "buses, protocols, driver, calibration, emulator", "hardware"),
    ),
    (
        ("config", "YAML files: robots, motions, waypoints", "note"),
        ("sim", "model and world in MuJoCo", "hardware"),
        ("web", "page, server, sessions", "input"),
        ("bags", "recorded runs", "note"),
    ),
    (("core", "the mathematics: no ROS, no I/O, no clock", "core"),),
)
CORE = (
    ("motions", "motion files, step by step"),
    ("planner", "requests in, one plan per tick out; the states"),
    ("posture", "lying, standing up, takeover"),
    ("walking", "feet and body while walking"),
    ("workspace", "where feet may stand, how fast"),
    ("gait", "gait table, clock, swing profile"),
    ("statics", "margin, loads, compliance"),
    ("sensing", "contacts, tilt, odometry"),
    ("steering", "gamepad, arc, path to a twist"),
    ("kinematics", "leg, body, contact, SE(2)"),
)


def folders() -> None:
    """The folders of the package in their layers, and those of core."""
    d = Drawing(1080, 560, "Folders of hexapod_control; imports go down only")
    d.text(20, 28, "hexapod_control/", size=15, bold=True, anchor="start")
    d.text(600, 28, "imports go down only", size=12, anchor="end", ink=PALE)
    for k, layer in enumerate(LAYERS):
        width = (600 - 20 - 10 * (len(layer) - 1)) / len(layer)
        for j, (name, what, kind) in enumerate(layer):
            lines = _wrapped(what, int(width / 6.2))
            d.box(Box(20 + j * (width + 10), 42 + 73 * k, width, 62, f"{name}/", lines, kind))
    d.arrow((610, 60), (610, 540))
    d.text(660, 28, "core/", size=15, bold=True, anchor="start")
    for k, (name, what) in enumerate(CORE):
        row, column = divmod(k, 2)
        d.box(Box(660 + 205 * column, 42 + 84 * row, 195, 72, f"{name}/", _wrapped(what, 30), "core"))
    d.text(660, 490, "names.py, robot.py: names of legs and joints, the robot", anchor="start", ink=PALE)
    d.text(660, 508, "as frozen data. The folders of core are acyclic, too.", anchor="start", ink=PALE)
    d.save(IMAGES / "folders.svg")


def _wrapped(text: str, columns: int) -> tuple[str, ...]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > columns and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return tuple(lines)


STATES = {  # name: (x, y, lines)
    "Unknown": (30, 190, ("joint angles not known", "gait_state: unknown")),
    "Lying": (270, 190, ("on its belly", "gait_state: sitting")),
    "Transition": (520, 60, ("queue of posture motions", "gait_state: rising, sinking")),
    "OnFeet": (800, 190, ("walk controller", "gait_state: standing,", "walking, moving")),
    "WholeBodyMove": (520, 320, ("all joints or all feet at once", "gait_state: moving")),
}


def planner_states() -> None:
    """The states of the planner and what leads from one to another."""
    d = Drawing(1080, 460, "States of the planner")
    b = {name: d.box(Box(x, y, 200, 84, name, lines, "core")) for name, (x, y, lines) in STATES.items()}
    unknown, lying, transition, *_ = b.values()
    d.arrow(unknown.right, lying.left)
    d.text(250, 182, "joint_states", size=11.5, ink=PALE)
    d.arrow((130, 190), (130, 102), transition.left, label="joint_states of a standing robot: takeover", at=(330, 95))
    d.arrow((370, 190), (370, 125), (520, 125), label="stand", at=(440, 120))
    d.arrow((720, 85), (900, 85), (900, 190), label="standing up is complete", at=(810, 78))
    d.arrow((850, 190), (850, 120), (720, 120), label="sit, once at rest", at=(782, 136))
    d.arrow((560, 144), (560, 215), (470, 215), label="sitting down is complete", at=(635, 190))
    d.arrow((850, 274), (850, 345), (720, 345), label="move_feet,\nmove_joints", at=(790, 323))
    d.arrow((720, 385), (940, 385), (940, 274), label="ends with three feet down", at=(830, 402))
    d.arrow((520, 345), (350, 345), (350, 274), label="ends lying", at=(430, 338))
    d.arrow((310, 274), (310, 385), (520, 385), label="move_feet, move_joints", at=(415, 402))
    d.text(30, 300, "torque off (armed = false):", anchor="start", ink=PALE)
    d.text(30, 316, "every state to Unknown", anchor="start", ink=PALE)
    d.text(
        30,
        440,
        "stop freezes a Transition until stand or sit, ends a WholeBodyMove where it is, and halts the walk of OnFeet.",
        anchor="start",
        ink=PALE,
    )
    d.save(IMAGES / "planner-states.svg")


def tick() -> None:
    """One tick as lanes: what happens in which process and file."""
    d = Drawing(1080, 560, "One tick, from the timer of the planner to the bytes on the servo bus")
    lanes = (
        (
            "gait_planner, timer at 50 Hz",
            "core",
            (
                ("read the clock", "nodes/gait_planner/gait_planner.py", "dt, at most 2 periods"),
                ("motion player", "core/motions/motion_player.py", "steps of a motion file"),
                ("planner", "core/planner/planner.py", "one tick of the state"),
                ("state", "core/planner/states.py", "which motion, which pace"),
                ("tick limiter", "core/planner/tick_limiter.py", "copy, advance, check"),
                ("plan", "core/planner/planner.py", "speeds, loads, margin"),
            ),
        ),
        (
            "the walk, inside the tick limiter",
            "node",
            (
                ("limits of the twist", "core/walking/speed_control.py", "scale, then ramp"),
                ("body pose", "core/walking/body/body_control.py", "goal, clamp, tilt"),
                ("gait change", "core/walking/gait_change.py", "plan if one is due"),
                ("region guard", "core/walking/feet/stride_control.py", "slow before an edge"),
                ("feet", "core/walking/feet/foot_motion.py", "stance, swing, drop"),
                ("inverse kinematics", "core/kinematics/whole_body.py", "joints, or the failing leg"),
            ),
        ),
        (
            "inverse_kinematics, on foot_targets",
            "core",
            (
                ("message to arrays", "ros/row_messages.py", "mapped by name"),
                ("joint angles", "core/kinematics/leg_kinematics.py", "closed form"),
                ("limits", "nodes/inverse_kinematics/joint_target_filter.py", "hold, clamp, slow"),
                ("publish", "nodes/inverse_kinematics/inverse_kinematics.py", "joint_targets, stamp copied"),
            ),
        ),
        (
            "servo_driver, thread of the bus",
            "hardware",
            (
                ("newest targets", "servos/driver/driver.py", "mailbox of one"),
                ("setpoints", "servos/driver/target_follower.py", "watchdog, arming ramp"),
                ("last limit", "servos/driver/target_follower.py", "speed, no jump"),
                ("raw goals", "servos/driver/servo_group.py", "calibration, clamp"),
                ("bytes out", "servos/protocols/feetech_st.py", "one write for all"),
                ("replies in", "servos/bus/transaction.py", "positions, load, heat"),
            ),
        ),
    )
    for k, (title, kind, steps) in enumerate(lanes):
        y = 30 + 133 * k
        d.text(20, y, title, size=13.5, bold=True, anchor="start")
        last = None
        for j, (name, path, what) in enumerate(steps):
            folder, _, file = path.rpartition("/")
            box = d.box(Box(20 + 176 * j, y + 12, 160, 84, name, (f"{folder}/", file, what), kind))
            if last is not None:
                d.arrow(last.right, box.left)
            last = box
    d.save(IMAGES / "tick.svg")


def draw() -> None:
    """Writes all drawings."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for make in (data_flow, folders, planner_states, tick):
        make()


if __name__ == "__main__":
    draw()
