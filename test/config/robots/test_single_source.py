# SPDX-License-Identifier: Apache-2.0
"""Every value of a robot file is stored once: a change reaches all that depends on it and nothing else."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from functools import cache

import mujoco
import numpy as np
import pytest

from hexapod_control.config.robots.nav2_parameters import describe
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.leg_kinematics import clamp, leg_forward
from hexapod_control.evaluation.robot_check.checks import CHECKS
from hexapod_control.evaluation.robot_check.subject import Subject
from hexapod_control.servos.driver.target_follower import SPEED_MARGIN, TargetFollower
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings
from hexapod_control.web.page_state import shape

Reading = dict[str, float]  # output of a consumer for a robot file
Effect = Callable[[Reading, Reading], None]  # compares the readings before and after a change
COXA, FEMUR, TIBIA = 0.052, 0.072, 0.133  # [m] after the change
LIMIT, MASS, FOOTHOLD, SPEED = math.radians(12.0), 0.085, 0.2434, 4.12  # after the change: [rad] [kg] [m] [rad/s]
LEG = "left_middle"
DT = 0.01  # [s]
CHANGES = {  # text of phantomx.yaml before and after
    "length": ("length: 0.066", f"length: {FEMUR}"),
    "limit": ("coxa: {lower_deg: -75.0, upper_deg: 75.0}", "coxa: {lower_deg: -12.0, upper_deg: 12.0}"),
    "mass": ("mass: 0.055             # [kg] with the foot", f"mass: {MASS}"),
    "foothold": ("foothold: [0.0, 0.2534]", f"foothold: [0.0, {FOOTHOLD}]"),
    "length of one leg": (f"{LEG}: {{hip", f"{LEG}: {{femur: {{length: {FEMUR}}}, hip"),
    "servo speed": ("no_load_speed: 6.18", f"no_load_speed: {SPEED}"),
}
# Pairs of changes in one file for nav2 and check, where each robot takes a long search for its stance and speeds. What
# EFFECTS compares there for one change does not depend on the other one.
PAIRS = (("mass", "foothold"), ("length of one leg", "servo speed"))
SEARCHING = ("nav2", "check")


def of_urdf(file: RobotFile) -> Reading:
    tree = ET.fromstring(urdf(file))
    joints = {joint.get("name"): joint for joint in tree.findall("joint")}
    limit = joints[f"{LEG}_coxa_joint"].find("limit")
    mass = {link.get("name"): link.find("inertial/mass") for link in tree.findall("link")}
    return {
        "femur": float(joints[f"{LEG}_tibia_joint"].find("origin").get("xyz").split()[0]),
        "limit": float(limit.get("upper")),
        "speed": float(limit.get("velocity")),
        "mass": sum(float(mass[f"{LEG}_{part}"].get("value")) for part in ("tibia", "foot")),
    }


def of_kinematics(file: RobotFile) -> Reading:
    leg = file.robot.legs[1]
    return {"straight_leg": leg_forward(leg, (0.0, 0.0, 0.0))[1][0], "limit": clamp(leg, (9.0, 0.0, 0.0))[0]}


def of_simulator(file: RobotFile) -> Reading:
    simulation = Simulation(file.robot, urdf(file), WorldSettings())
    model, data = simulation.model, simulation.data
    mujoco.mj_forward(model, data)
    joint = model.joint(f"{LEG}_coxa_joint")
    return {
        "femur": model.body(f"{LEG}_tibia").pos[0],
        "limit": joint.range[1],
        "damping": float(np.ravel(joint.damping)[0]),
        "mass": sum(model.body(f"{LEG}_{part}").mass[0] for part in ("tibia", "foot")),
        "foot": data.xpos[simulation.world.feet[1]][1],
    }


def of_servo_driver(file: RobotFile) -> Reading:
    start = np.zeros((len(file.robot.legs), 3))
    follower = TargetFollower(file.robot, start)
    follower.take(start + 9.0, None, 0.0)
    return {"limit": follower.target[1, 0], "step": follower.step(DT)[1, 0]}


def of_nav2(file: RobotFile) -> Reading:
    found = describe(file.robot)
    axes = zip(("vx", "vy", "wz"), found.velocity, strict=True)
    return {**dict(axes), "left": max(y for _, y in found.footprint), "radius": found.radius}


def of_page(file: RobotFile) -> Reading:
    sent = shape(file.robot)
    leg = sent["legs"][1]
    return {"femur": leg["femur"], "foothold": leg["foothold"][1], "mass": sent["mass"]}


def of_check(file: RobotFile) -> Reading:
    subject = Subject(file, 0.0)
    (reach,), (speed, *_) = ([*CHECKS[name](subject)] for name in ("reach", "speed"))
    return {
        "joint_margin": reach.figures["joint_margin_deg"],
        "step_radius": reach.figures["step_radius_m"],
        "speed": speed.figures["forward_m_s"],
    }


def of_check_of_loads(file: RobotFile) -> Reading:
    (standing,) = CHECKS["standing"](Subject(file, 0.0))
    return {"tibia_torque": standing.figures["torque_nm"]["tibia"]}


CONSUMERS: Mapping[str, Callable[[RobotFile], Reading]] = {
    "urdf": of_urdf,
    "kinematics": of_kinematics,
    "simulator": of_simulator,
    "servo_driver": of_servo_driver,
    "nav2": of_nav2,
    "page": of_page,
    "check": of_check,
    "check of loads": of_check_of_loads,
}


def has(**wanted: float) -> Effect:
    """Checks that the change gives these quantities these values, which they did not have before."""

    def compare(before: Reading, after: Reading) -> None:
        for name, value in wanted.items():
            assert before[name] != pytest.approx(value, rel=1e-2)
            assert after[name] == pytest.approx(value, rel=1e-9)

    return compare


def becomes(**wanted: float) -> Effect:
    """Checks the same, and that all other quantities are unchanged."""

    def compare(before: Reading, after: Reading) -> None:
        has(**wanted)(before, after)
        assert after == pytest.approx(before | wanted, rel=1e-9)

    return compare


def less(*names: str) -> Effect:
    """Checks that the change makes these quantities smaller by more than 1 %."""

    def compare(before: Reading, after: Reading) -> None:
        assert [after[name] / before[name] < 0.99 for name in names] == [True] * len(names)

    return compare


def more(*names: str) -> Effect:
    """Checks that the change makes these quantities larger."""

    def compare(before: Reading, after: Reading) -> None:
        less(*names)(after, before)

    return compare


WHY_NOT = {  # cells of consumers that do not depend on a value
    ("urdf", "foothold"): "a URDF describes no stance",
    ("kinematics", "mass"): "geometry has no masses",
    ("kinematics", "foothold"): "it is that of any position of a foot",
    ("kinematics", "servo speed"): "geometry has no speeds",
    ("servo_driver", "length"): "it knows angles only",
    ("servo_driver", "length of one leg"): "it knows angles only",
    ("servo_driver", "mass"): "it knows angles only",
    ("servo_driver", "foothold"): "it knows angles only",
    ("check of loads", "limit"): "a robot stands mid-range",
    ("check of loads", "servo speed"): "standing takes no speed",
    ("page", "limit"): "it draws measured angles, and velocity_limits come from the planner",
    ("page", "servo speed"): "velocity_limits come from the planner",
}
EFFECTS = {
    ("urdf", "length"): becomes(femur=FEMUR),
    ("urdf", "length of one leg"): becomes(femur=FEMUR),
    ("urdf", "limit"): becomes(limit=LIMIT),
    ("urdf", "mass"): becomes(mass=MASS),
    ("urdf", "servo speed"): becomes(speed=SPEED),
    ("kinematics", "length"): becomes(straight_leg=COXA + FEMUR + TIBIA),
    ("kinematics", "length of one leg"): becomes(straight_leg=COXA + FEMUR + TIBIA),
    ("kinematics", "limit"): becomes(limit=LIMIT),
    ("simulator", "length"): becomes(femur=FEMUR),
    ("simulator", "length of one leg"): becomes(femur=FEMUR),
    ("simulator", "limit"): becomes(limit=LIMIT),
    ("simulator", "mass"): becomes(mass=MASS),
    ("simulator", "foothold"): becomes(foot=FOOTHOLD),
    ("simulator", "servo speed"): becomes(damping=1.5 / SPEED),
    ("servo_driver", "limit"): becomes(limit=LIMIT),
    ("servo_driver", "servo speed"): becomes(step=SPEED_MARGIN * SPEED * DT),
    ("nav2", "length"): more("vx", "vy"),
    ("nav2", "length of one leg"): more("left"),
    ("nav2", "limit"): less("vx", "vy", "wz"),
    ("nav2", "foothold"): less("left"),
    ("nav2", "mass"): more("vx"),
    ("nav2", "servo speed"): less("vx", "vy", "wz"),
    ("page", "length"): becomes(femur=FEMUR),
    ("page", "length of one leg"): becomes(femur=FEMUR),
    ("page", "mass"): becomes(mass=2.1 + 6 * (MASS - 0.055)),
    ("page", "foothold"): becomes(foothold=FOOTHOLD),
    ("check", "length"): more("step_radius", "speed"),
    ("check", "length of one leg"): less("joint_margin"),
    ("check", "limit"): has(joint_margin=12.0),
    ("check", "mass"): more("speed"),
    ("check", "foothold"): less("step_radius"),
    ("check", "servo speed"): less("speed"),
    ("check of loads", "length"): more("tibia_torque"),
    ("check of loads", "length of one leg"): more("tibia_torque"),
    ("check of loads", "mass"): more("tibia_torque"),
    ("check of loads", "foothold"): more("tibia_torque"),
}


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Reading]:
    """The output of a consumer for phantomx with one value, or a pair of them, changed; unchanged for an empty name."""
    original = share("config", "robots", "phantomx.yaml").read_text(encoding="utf-8")
    folder = tmp_path_factory.mktemp("robots")

    @cache
    def robot_file(changes: tuple[str, ...]) -> RobotFile:
        text = original
        for old, new in map(CHANGES.__getitem__, changes):
            assert text.count(old) == 1
            text = text.replace(old, new)
        path = folder / f"{' and '.join(changes)}.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    @cache
    def read(consumer: str, change: str) -> Reading:
        together = (pair for pair in PAIRS if consumer in SEARCHING and change in pair)
        return CONSUMERS[consumer](robot_file(next(together, (change,) if change else ())))

    return read


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_change_of_the_file_changes_every_consumer_that_depends_on_it_and_no_other(
    reading: Callable[[str, str], Reading], consumer: str, change: str
) -> None:
    before, after = reading(consumer, ""), reading(consumer, change)
    effect = EFFECTS.get((consumer, change))
    assert (effect is None) is ((consumer, change) in WHY_NOT), "every cell is in one of the two tables"
    if effect is None:
        assert after == before, WHY_NOT[consumer, change]
    else:
        effect(before, after)
