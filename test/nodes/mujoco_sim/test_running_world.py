# SPDX-License-Identifier: Apache-2.0
"""The simulated world: its contents, and the physical properties on which measured figures rely."""

import dataclasses
import math

import numpy as np
import pytest
from support.drives import ROBOTS, robot_and_urdf
from walk_quality import QualityRecorder

from hexapod_control.core.kinematics.se2 import Twist, exp, log
from hexapod_control.core.names import JOINTS, joint_names
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.sim.servo_models import SERVO_MODELS, with_servo
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import lowest_point, sitting_pose, standing_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

GRAVITY = 9.81


@pytest.fixture(scope="module", params=ROBOTS)
def described(request):
    """(robot, URDF text) of every robot file."""
    return robot_and_urdf(request.param)


def settled(described, **settings):
    """A simulation that has stood for two seconds."""
    simulation = Simulation(*described, WorldSettings(**settings))
    simulation.step(standing_pose(described[0]), 2.0)
    return simulation


def test_every_link_and_joint_of_the_robot_is_in_the_world_by_name(described):
    robot, _ = described
    model = Simulation(*described, WorldSettings()).model
    links = ["base_link", "imu_link", *(f"{leg}_{part}" for leg in robot.leg_names for part in (*JOINTS, "foot"))]
    assert [model.body(link).name for link in links] == links
    assert [model.joint(name).name for name in joint_names(robot.leg_names)] == list(joint_names(robot.leg_names))


def test_a_urdf_of_another_robot_is_refused_by_the_missing_name(described):
    robot, text = described
    strange = dataclasses.replace(robot, legs=(dataclasses.replace(robot.legs[0], name="other"), *robot.legs[1:]))
    with pytest.raises(ValueError, match="'other_coxa_joint'"):
        Simulation(strange, text, WorldSettings())


def test_masses_are_those_of_the_robot_file(described):
    robot, _ = described
    model = Simulation(*described, WorldSettings()).model
    assert model.body("base_link").mass[0] == pytest.approx(robot.body.mass, rel=1e-6)
    assert float(model.body_mass.sum()) == pytest.approx(robot.mass, rel=1e-6)


def test_servos_have_the_torque_speed_and_stiffness_of_the_robot_file(described):
    robot, _ = described
    simulation = Simulation(*described, WorldSettings())
    world, model = simulation.world, simulation.model
    for row, leg in enumerate(robot.legs):
        for column, joint in enumerate(leg.joints):
            servo = world.actuator[row, column]
            assert model.actuator_forcerange[servo].tolist() == [-joint.stall_torque, joint.stall_torque]
            assert model.actuator_gainprm[servo, 0] == joint.stiffness
            damping = float(model.dof_damping[world.velocity[row, column]])
            assert damping == pytest.approx(joint.stall_torque / joint.no_load_speed)


def test_a_standing_robot_keeps_height_and_carries_its_weight_on_its_feet(described):
    robot, _ = described
    reading = settled(described).reading()
    assert reading.position[2] == pytest.approx(robot.walk.height, abs=0.002)
    assert float(reading.foot_forces.sum()) == pytest.approx(robot.mass * GRAVITY, rel=0.01)
    assert (reading.foot_forces > 0.0).all()


def test_an_imu_at_rest_reads_gravity_upwards_and_no_rotation(described):
    reading = settled(described).reading()
    assert reading.acceleration == pytest.approx([0.0, 0.0, GRAVITY], abs=0.05)
    assert reading.angular_velocity == pytest.approx([0.0, 0.0, 0.0], abs=0.01)
    assert reading.orientation == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=0.01)


def test_a_sitting_robot_rests_on_its_belly_and_touches_nothing_with_its_legs(described):
    robot, _ = described
    simulation = Simulation(*described, WorldSettings())
    simulation.reset(sitting_pose(robot))
    assert lowest_point(simulation.model, simulation.data) == pytest.approx(0.0, abs=1e-6)
    simulation.step(sitting_pose(robot), 1.0)
    assert {pair[1] for pair in simulation.unwanted_contacts()} == {"base_link"}
    assert simulation.reading().foot_forces.max() == 0.0


def test_no_servo_turns_faster_than_its_no_load_speed(described):
    robot, _ = described
    simulation = Simulation(*described, WorldSettings())
    limits = np.array([[joint.no_load_speed for joint in leg.joints] for leg in robot.legs])
    simulation.reset(standing_pose(robot), 20.0)
    fastest = []

    def watch(now):
        speed = np.abs(now.data.qvel[now.world.velocity])
        fastest.append((speed / limits)[:, 0].max())

    simulation.step(standing_pose(robot) + np.array([1.2, 0.0, 0.0]), 0.3, watch)
    assert 0.5 < max(fastest) < 1.02


def test_a_servo_delivers_at_most_its_stall_torque_and_reports_saturation(phantomx):
    robot, _ = phantomx
    simulation = settled(phantomx)
    simulation.step(standing_pose(robot) + np.array([0.0, 0.0, -1.0]), 0.02)
    reading = simulation.reading()
    assert simulation.saturated[:, 2].all()
    assert np.abs(reading.joint_torque).max() <= robot.legs[0].tibia_joint.stall_torque


def test_released_servos_let_the_robot_sink_and_engaged_ones_raise_it_again(phantomx):
    robot, _ = phantomx
    simulation = settled(phantomx)
    simulation.release()
    simulation.step(standing_pose(robot), 4.0)
    assert simulation.reading().position[2] < 0.7 * robot.walk.height
    assert not simulation.reading().joint_torque.any()
    simulation.engage()
    simulation.step(standing_pose(robot), 2.0)
    assert simulation.reading().position[2] == pytest.approx(robot.walk.height, abs=0.005)


@pytest.mark.parametrize("world", WORLDS)
def test_the_start_is_flat_in_every_world(world, phantomx):
    robot, _ = phantomx
    simulation = Simulation(*phantomx, WorldSettings(world=world, seed=3))
    for leg in robot.legs:
        assert simulation.ground_height(*leg.foothold) == pytest.approx(0.0, abs=1e-5)
    simulation.step(standing_pose(robot), 1.0)
    assert simulation.reading().position[2] == pytest.approx(robot.walk.height, abs=0.002)


@pytest.mark.parametrize("angle", [-15.0, 15.0])
def test_a_slope_climbs_with_its_angle_along_x(angle, phantomx):
    simulation = Simulation(*phantomx, WorldSettings(world="slope", slope_deg=angle))
    rise = simulation.ground_height(2.0, 0.5) - simulation.ground_height(1.0, -0.5)
    assert rise == pytest.approx(math.tan(math.radians(angle)), abs=1e-5)


@pytest.mark.parametrize(("world", "height"), [("blocks", "block_height"), ("bumps", "bump_height")])
def test_rough_ground_follows_its_seed_and_stays_within_its_height(world, height, phantomx):
    def profile(seed):
        simulation = Simulation(*phantomx, WorldSettings(world=world, seed=seed, **{height: 0.03}))
        places = np.random.default_rng(7).uniform(-2.5, 2.5, (200, 2))
        return np.array([simulation.ground_height(x, y) for x, y in places])

    first = profile(1)
    assert (first == profile(1)).all()
    assert not np.allclose(first, profile(2))
    assert np.abs(first).max() <= 0.03 + 1e-6
    assert np.ptp(first) > 0.02


def test_payload_adds_its_weight_to_the_feet(phantomx):
    robot, _ = phantomx
    forces = settled(phantomx, payload=1.0).reading().foot_forces
    assert float(forces.sum()) == pytest.approx((robot.mass + 1.0) * GRAVITY, rel=0.01)


@pytest.mark.parametrize(("friction", "slides"), [(0.8, False), (0.2, True)])
def test_friction_decides_whether_a_push_of_half_the_weight_slides_the_robot(friction, slides, phantomx):
    robot, _ = phantomx
    simulation = settled(phantomx, friction=friction)
    recorder = QualityRecorder(simulation)
    simulation.push(np.array([0.5 * robot.mass * GRAVITY, 0.0, 0.0]), 0.2)
    simulation.step(standing_pose(robot), 0.5, recorder.sample)
    assert (recorder.slid.mean() > 0.02) == slides


def test_the_slip_of_a_sliding_robot_is_the_distance_of_its_loaded_feet(phantomx):
    robot, _ = phantomx
    simulation = settled(phantomx)
    simulation.model.geom_friction[:, 0] = 0.1
    recorder = QualityRecorder(simulation)
    simulation.push(np.array([0.3 * robot.mass * GRAVITY, 0.0, 0.0]), 0.3)
    places, loaded = [], []

    def watch(now):
        recorder.sample(now)
        places.append(now.data.xpos[now.world.feet][:, :2].copy())
        loaded.append(now.foot_forces > 0.02)

    simulation.step(standing_pose(robot), 1.0, watch)
    way = np.linalg.norm(np.diff(places, axis=0), axis=2)
    assert way.sum(axis=0).min() > 0.2
    assert recorder.slid == pytest.approx((way * np.array(loaded)[1:]).sum(axis=0), rel=0.1)


def test_equal_runs_are_bit_identical(phantomx):
    def run():
        simulation = Simulation(*phantomx, WorldSettings(world="bumps"))
        simulation.step(standing_pose(phantomx[0]) + 0.1, 0.5)
        return simulation.data.qpos.copy()

    assert (run() == run()).all()


def test_time_that_is_no_whole_physics_step_is_not_lost(phantomx):
    simulation = Simulation(*phantomx, WorldSettings())
    for _ in range(100):
        simulation.step(standing_pose(phantomx[0]), 0.0333)
    assert simulation.time == pytest.approx(3.33, abs=0.0021)


def test_targets_between_two_ticks_are_held_or_interpolated_linearly(phantomx):
    robot, _ = phantomx
    start, goal = standing_pose(robot), standing_pose(robot) + 0.1
    for between, first in (("hold", goal), ("linear", start + 0.01)):
        seen = []
        simulation = Simulation(*phantomx, WorldSettings(between_targets=between))
        simulation.step(goal, 0.02, lambda now, seen=seen: seen.append(now.data.ctrl[now.world.actuator].copy()))
        assert len(seen) == 10
        assert seen[0] == pytest.approx(first)
        assert seen[-1] == pytest.approx(goal)


@pytest.mark.parametrize("name", sorted(SERVO_MODELS))
def test_a_servo_model_replaces_that_of_the_robot_file(name, phantomx):
    robot, text = phantomx
    simulation = Simulation(with_servo(robot, name), text, WorldSettings(servo_model=name))
    servo = SERVO_MODELS[name]
    assert (simulation.world.stall_torque == servo.stall_torque).all()
    assert (simulation.model.actuator_gainprm[:, 0] == servo.stiffness).all()
    assert servo.source
    assert with_servo(robot, name).legs[0].coxa_joint.no_load_speed == servo.no_load_speed


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"world": "moon"}, f"world must be one of {', '.join(WORLDS)}"),
        ({"friction": float("nan")}, "friction must be in"),
        ({"payload": -1.0}, "payload must be in"),
        ({"servo_model": "ax13"}, "servo_model must be one of ax12"),
        ({"between_targets": "spline"}, "hold, linear"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_with_what_is_possible(settings, what):
    with pytest.raises(ValueError, match=what):
        WorldSettings(**settings)


def test_the_logarithm_of_a_planar_motion_is_its_twist():
    random = np.random.default_rng(5)
    for _ in range(200):
        twist, time = Twist(*random.uniform(-1.0, 1.0, 3).tolist()), float(random.uniform(0.1, 3.0))
        assert log(exp(twist, time), time) == pytest.approx(twist, abs=1e-9)
