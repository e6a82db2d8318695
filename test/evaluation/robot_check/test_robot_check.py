# SPDX-License-Identifier: Apache-2.0
"""The claims of `hexapod check` hold in physics, and forces and weights balance."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.suite.soak import some
from walk_quality import Course, walk

from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.shipped_files import share
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.statics.leg_compliance import foot_jacobian
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass, static_margin
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.evaluation.lockstep import Lockstep
from hexapod_control.evaluation.robot_check import checks
from hexapod_control.evaluation.robot_check.checks import CHECKS, IDLE_W, SAG_SHARE, power, remarks, servo_power, wire
from hexapod_control.evaluation.robot_check.joint_torques import standing_torques
from hexapod_control.evaluation.robot_check.steady_walk import TICK_S
from hexapod_control.evaluation.robot_check.subject import (
    AXES,
    USUAL_BATTERY_WH,
    WALK_SPEED_SHARE,
    Seriousness,
    Subject,
)
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

ROBOTS = ("phantomx", "article")
SETTLING_TICKS = 50  # ticks at the twist before a cycle is measured
TOP_SPEED_CYCLES = 4  # in which a body that swings on soft legs travels at its mean speed
ALMOST_ALL = 0.1  # quantile


@cache
def subject(robot: str, payload: float = 0.0) -> Subject:
    return Subject(load(robot), payload)


def simulation(robot: str) -> Simulation:
    file = load(robot)
    return Simulation(file.robot, urdf(file), WorldSettings())


@dataclass
class Measured:
    """Torques and margins of a walk in physics, and its top speed."""

    torques: list[np.ndarray] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    top_speed: float = 0.0

    @property
    def rms(self) -> np.ndarray:
        return np.sqrt((np.array(self.torques) ** 2).mean(axis=(0, 1)))

    def sample(self, world: Simulation) -> None:
        data, index = world.data, world.world
        self.torques.append(np.array(data.actuator_force[index.actuator]))
        loaded = world.foot_forces > 0.02 * world.robot.mass * GRAVITY
        feet = [(x, y) for x, y, _ in data.xpos[index.feet][loaded].tolist()]
        self.heights.append(float(data.xpos[index.base][2]))
        x, y, _ = data.subtree_com[index.base].tolist()
        self.margins.append(static_margin(feet, (x, y)) if len(feet) > 2 else -math.inf)


def measured(robot: str) -> Measured:
    """One walk: a cycle at the claimed twist, then some at the claimed top speed, in which the body swings as well."""
    claimed, world, found = subject(robot), simulation(robot), Measured()
    world.reset(sitting_pose(world.robot))
    run = Lockstep(world, Planner(world.robot, claimed.walk.gait))
    run.stand()
    run.reach(claimed.walk.twist)
    for _ in range(SETTLING_TICKS):
        run.tick()
    for _ in range(len(claimed.walk.joints)):
        run.tick(found.sample)
    top = claimed.top_speed(claimed.walk.gait, "forward")
    run.reach(AXES["forward"].scaled(top))
    for _ in range(SETTLING_TICKS):
        run.tick()
    ticks, start = TOP_SPEED_CYCLES * len(claimed.walk.joints), world.data.xpos[world.world.base].copy()
    for _ in range(ticks):
        run.tick()
    found.top_speed = float(np.linalg.norm((world.data.xpos[world.world.base] - start)[:2])) / (ticks * TICK_S)
    return found


@pytest.mark.physics
@pytest.mark.parametrize("robot", some(known_robots(), "article_offset", "octopod", "phantomx", "quadruped"))
def test_torques_margin_sag_and_top_speed_of_a_walk_are_those_of_physics(robot: str) -> None:
    claimed, found = subject(robot), measured(robot)
    assert claimed.torques.rms == pytest.approx(found.rms, rel=0.2)
    # At touch-down and lift-off the feet exchange their load within a few steps: the margin is that of almost all. The
    # body moves on within a tick.
    planned, actual = (float(np.quantile(margins, ALMOST_ALL)) for margins in (claimed.walk.margins, found.margins))
    assert planned == pytest.approx(actual, abs=0.004 + TICK_S * max(claimed.walk.twist))
    # Feet that exchange their load share it among more legs: the body sags less in the mean than on the fewest.
    (sagging,) = CHECKS["sagging"](claimed)
    assert 0.4 < (claimed.robot.walk.height - np.mean(found.heights)) / sagging.figures["sag_m"] < 1.0
    assert found.top_speed == pytest.approx(claimed.top_speed(claimed.walk.gait, "forward"), rel=0.1)


@pytest.mark.physics
def test_the_claimed_top_speed_of_a_turn_is_reached_in_physics() -> None:
    top = AXES["turn"].scaled(subject("article").top_speed("tripod", "turn"))
    found = walk(simulation("article"), Course("tripod", top, 1))
    assert found.ratios == pytest.approx([1.0], abs=0.1)


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_feet_carry_the_weight_without_tilting_the_body(robot: str) -> None:
    machine, joints = subject(robot).robot, subject(robot).standing
    planted = [row != 1 for row in range(len(machine.legs))]
    torques = standing_torques(machine, joints, planted)
    center, force, moment = np.array(center_of_mass(machine, joints)), np.zeros(3), np.zeros(3)
    for leg, row, torque, down in zip(machine.legs, joints, torques, planted, strict=True):
        if not down:
            continue
        own = standing_torques(machine, joints, [each is not leg for each in machine.legs])[machine.legs.index(leg)]
        foot = np.linalg.solve(foot_jacobian(leg, row).T, own - torque)
        force += foot
        moment += np.cross(np.array(hip_to_base(leg, leg_forward(leg, row)[1])) - center, foot)
    assert force == pytest.approx([0.0, 0.0, machine.mass * GRAVITY], abs=1e-6)
    assert moment == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)


def test_remarks_are_sorted_by_severity_with_a_remedy_and_computed_in_20_s() -> None:
    start = time.process_time()
    found = remarks(Subject(load("phantomx"), 3.0), lambda name: None)
    assert time.process_time() - start < 20.0
    order = [remark.seriousness for remark in found]
    assert order == sorted(order, reverse=True)
    worst = found[0]
    assert worst.seriousness is Seriousness.PROBLEM
    assert worst.change.startswith("servos of ") and " kg less" in worst.change
    topics = {remark.topic for remark in found}
    assert topics == set(CHECKS) - {"body", "footholds", "gait"}


LITTLE_GAIN = 0.9


def test_footholds_that_make_the_robot_faster_are_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    inline = subject("inline")
    assert [*CHECKS["footholds"](inline)] == []  # its stride centers move as far as that is worth while
    monkeypatch.setattr(checks, "MIN_GAIN", LITTLE_GAIN)
    (remark,) = CHECKS["footholds"](inline)
    assert remark.figures["speed_m_s"] > LITTLE_GAIN * inline.top_speed("tripod", "forward")
    assert remark.figures["footholds"].keys() <= set(inline.robot.leg_names)


def test_the_wire_budget_is_that_of_the_usual_bus_of_the_servos() -> None:
    (fast,), (slow,), none = (list(wire(subject(name))) for name in ("quadruped", "big_hex", "article"))
    assert (fast.seriousness, fast.figures["reads"], fast.figures["rate_hz"]) == (Seriousness.FIGURE, 12, 50.0)
    assert (slow.seriousness, slow.figures["protocol"]) == (Seriousness.NOTE, "lx16a")
    assert slow.change.startswith("a higher baud") and none == []


def test_a_payload_is_carried_by_the_servos() -> None:
    light, heavy = (subject("phantomx", payload).torques.held for payload in (0.0, 0.5))
    assert (heavy > light).all()


def of_power(robot: str, payload: float = 0.0, battery: float = USUAL_BATTERY_WH) -> dict[str, float]:
    (remark,) = power(replace(subject(robot, payload), battery=battery))
    return {name: value for name, value in remark.figures.items() if isinstance(value, float)}


def test_a_servo_takes_at_least_its_mechanical_power_and_at_rest_only_that_of_its_electronics() -> None:
    robot, rng = subject("phantomx").robot, np.random.default_rng(1)
    torque, velocity = rng.uniform(-1.5, 1.5, (200, 6, 3)), rng.uniform(-6.0, 6.0, (200, 6, 3))
    assert (servo_power(robot, torque, velocity) >= torque * velocity + IDLE_W).all()
    assert (servo_power(robot, np.zeros((6, 3)), velocity[0]) == IDLE_W).all()
    assert (servo_power(robot, 1.1 * torque, 0.0 * torque) > servo_power(robot, torque, 0.0 * torque)).all()


@pytest.mark.parametrize("robot", some(ROBOTS, "phantomx"))
def test_power_grows_with_the_load_and_the_time_on_a_battery_is_inverse_to_it(robot: str) -> None:
    light, heavy, large = of_power(robot), of_power(robot, 0.5), of_power(robot, battery=2.0 * USUAL_BATTERY_WH)
    for what in ("standing", "walking"):
        assert light["idle_w"] < light[f"{what}_w"] < heavy[f"{what}_w"]
        for found in (light, heavy):
            assert found[f"{what}_w"] * found[f"{what}_min"] == pytest.approx(60.0 * USUAL_BATTERY_WH, rel=0.01)
        assert large[f"{what}_min"] == pytest.approx(2.0 * light[f"{what}_min"], rel=0.01)
    assert light["standing_w"] < light["walking_w"]


def changed_robot_file(folder: Path, changes: dict[str, str]) -> Subject:
    """Phantomx with texts of its file replaced by others."""
    text = share("config", "robots", "phantomx.yaml").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = folder / "changed.yaml"
    path.write_text(text, encoding="utf-8")
    return Subject(load(path), 0.0)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Phantomx with a body around its hips, slower servos in one leg, and a gait chosen by speed."""
    changes = {
        "size: [0.24, 0.12, 0.05]": "size: [0.30, 0.30, 0.05]",
        "left_middle: {hip": "left_middle: {servo: {no_load_speed: 2.6}, hip",
        "gait: tripod": f"gait: {AUTO}",
    }
    return changed_robot_file(tmp_path_factory.mktemp("wide"), changes)


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Phantomx on servos that are slow and soft."""
    changes = {"no_load_speed: 6.18": "no_load_speed: 1.5", "stiffness: 20.0": "stiffness: 4.0"}
    return changed_robot_file(tmp_path_factory.mktemp("weak"), changes)


def test_the_walk_of_a_robot_that_chooses_its_gait_by_speed_is_in_the_fastest(wide: Subject) -> None:
    assert wide.robot.walk.gait == AUTO
    speeds = {gait: wide.top_speed(gait, "forward") for gait in wide.capabilities.gaits}
    assert wide.walk.gait == max(speeds, key=lambda gait: speeds[gait]) == "tripod"
    assert wide.walk.twist == AXES["forward"].scaled(WALK_SPEED_SHARE * speeds["tripod"])


def test_a_gait_that_is_slower_than_an_equally_stable_one_is_noted_with_both_speeds(wide: Subject) -> None:
    assert not list(CHECKS["gait"](wide))  # chosen by speed
    robot = replace(wide.robot, walk=replace(wide.robot.walk, gait="tetrapod"))
    slow = replace(wide, file=replace(wide.file, robot=robot))
    (remark,) = CHECKS["gait"](slow)
    capabilities = Capabilities.of(robot)
    assert capabilities.margin("tripod") == pytest.approx(capabilities.margin("tetrapod"), abs=1e-4)
    ahead = [capabilities.fastest(AXES["forward"], [gait]).vx for gait in ("tetrapod", "tripod")]
    assert (remark.figures["own"], remark.figures["speed"]) == pytest.approx(ahead)
    assert remark.seriousness is Seriousness.NOTE and remark.change == "walk.gait tripod"


def test_the_joint_that_limits_the_speed_is_found_in_the_leg_with_the_slow_servos(wide: Subject) -> None:
    fastest = np.abs(wide.walk.velocity).max(axis=0)
    assert fastest[1].argmax() == 1
    tripod, *_ = CHECKS["speed"](wide)
    assert tripod.figures["limit"] == "the speed of the femur servos"


def test_legs_inside_the_box_of_the_body_are_named_and_walk_in_physics_without_touching_it(wide: Subject) -> None:
    assert not list(CHECKS["body"](subject("phantomx")))
    overlaps = list(CHECKS["body"](wide))
    gaps = {remark.figures["leg"]: remark.figures["gap_m"] for remark in overlaps}
    assert gaps.keys() == {*wide.robot.leg_names}
    middle = wide.robot.legs[wide.robot.leg_names.index("left_middle")]
    assert gaps["left_middle"] == pytest.approx(
        middle.hip[1] + middle.coxa.length - 0.15 - middle.femur.radius, abs=1e-4
    )
    assert all("body.size" in remark.change for remark in overlaps)
    world = Simulation(wide.robot, urdf(wide.file), WorldSettings())
    assert not walk(world, Course("tripod", Twist(0.06, 0.0, 0.0), 1)).unwanted_contacts


def test_the_sag_is_inverse_to_the_stiffness_and_the_suggested_lift_is_enough(weak: Subject) -> None:
    (usual,) = CHECKS["sagging"](subject("phantomx"))
    assert (usual.seriousness, usual.change) == (Seriousness.FIGURE, "")
    (soft,) = CHECKS["sagging"](weak)
    assert soft.figures["sag_m"] == pytest.approx(5.0 * usual.figures["sag_m"], rel=0.01)
    lift = re.match(r"walk.lift_height of ([\d.]+) m", soft.change)[1]
    assert float(lift) * SAG_SHARE == pytest.approx(soft.figures["sag_m"], abs=1e-4)


def test_the_sway_follows_the_stiffness_and_swings_too_short_for_it_are_named(weak: Subject) -> None:
    (usual,) = CHECKS["swaying"](subject("phantomx"))
    assert (usual.seriousness, usual.change) == (Seriousness.FIGURE, "")
    (soft,) = CHECKS["swaying"](weak)
    period = soft.figures["sway_period_s"]
    assert period == pytest.approx(math.sqrt(5.0) * usual.figures["sway_period_s"], rel=1e-3)
    assert soft.seriousness is Seriousness.NOTE and f"walk.swing_time of {2.0 * period:.2f} s" in soft.change


def test_strides_with_a_center_of_mass_at_the_rear_are_shortened_until_they_keep_their_margin(tmp_path: Path) -> None:
    rear = "center_of_mass: [-0.258, 0.0, 0.0]"
    found = list(CHECKS["margin"](changed_robot_file(tmp_path, {"center_of_mass: [0.0, 0.0, 0.0]": rear})))
    (shortened,) = (remark.figures["stride_shares"] for remark in found if "stride_shares" in remark.figures)
    (margin,) = (remark.figures["walking_margin_m"] for remark in found if "walking_margin_m" in remark.figures)
    assert 0.0 < shortened["tripod"] < 1.0
    assert margin >= 0.005


def test_servos_that_are_too_slow_for_the_swing_are_a_problem(weak: Subject) -> None:
    for remark in CHECKS["speed"](weak):
        assert (remark.seriousness, remark.change) == (
            Seriousness.PROBLEM,
            "faster servos, or a longer walk.swing_time",
        )
