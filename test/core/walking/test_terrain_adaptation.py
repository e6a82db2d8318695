# SPDX-License-Identifier: Apache-2.0
"""Feet that follow uneven ground and a body kept level: in pure kinematics, then in physics."""

import math
import random
from functools import cache
from itertools import combinations

import flat_ground
import numpy as np
import pytest
import rough_ground
from sensing_lockstep import SensingLockstep
from support.drives import DT, robot, standing_planner, walk_of
from support.suite.soak import SOAK, cases, some
from walk_quality import walk as walked

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.gait import swing_trajectory
from hexapod_control.core.gait.swing_trajectory import SMOOTH, lift
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.planner.planner import RobotState
from hexapod_control.core.planner.tick_limiter import SPIN_UP_TIME_S
from hexapod_control.core.sensing.sensor_inputs import Adaptation, SensorFault, SensorSource
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.walking.foot import Dropping, Swing
from hexapod_control.core.walking.terrain import STEEP
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE
from hexapod_control.evaluation.lockstep import planar_pose
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

NAMES = ("phantomx", "article")
SEEDS, TICKS = (range(5), 1200) if SOAK else (range(2), 700)  # of random contacts
MAX_TILT = math.radians(10.0)
MAX_LIFT_OFF_DELAY, WAITING_SHARE = 0.15, 0.3  # of a cycle; of the speed
EARLIEST_TOUCH_DOWN, TERRAIN_TOLERANCE, MAX_OFFSET_SHARE = 0.5, 0.003, 0.4  # progress; [m]; of the walk height
SEARCH_SPEED, HEIGHT_RATE = 0.15, 0.1  # [m/s]
FEET = Adaptation(touch_down=True)
LEVEL = Adaptation(levelling=True)
FORWARD = Twist(0.05, 0.0, 0.0)
LOADED_N, UNLOADED_N = 5.0, 0.0
HALF_FIELD = 0.9  # [m] enough to distinguish walks with contacts from those without; rough_ground walks farther
APPROACH_SPEED, NEAR_FIELD = 0.15, 0.35  # [m/s] until this far [m]: 0.15 m before the end of the flat start
NO_LOAD_SPEED = 6.2  # [rad/s] of the servos of phantomx
ROUNDED = 1.0001  # factor on a limit, for rounding errors
RECOVERY_TIME_S = 0.5  # after which all feet are back on the plane


def adaptive_planner(name="phantomx", adaptation=FEET):
    planner = standing_planner(name)
    planner.sensors.adaptation = adaptation
    return planner


def feet(planner):
    return walk_of(planner).motion.feet


def terrain(planner):
    return walk_of(planner).motion.terrain


def progress(foot):
    """Progress of a swing; None for a foot that does not swing."""
    return foot.state.progress if isinstance(foot.state, Swing) else None


class NoisyLoadSensor:
    """Loads of the feet with a little noise, so that the sensor does not count as frozen."""

    def __init__(self, planner):
        self._planner, self._noise = planner, random.Random(1)

    def __call__(self, touching):
        loads = [(LOADED_N if down else UNLOADED_N) + 0.01 * self._noise.random() for down in touching]
        self._planner.sensors.contacts.take(loads)


def step(planner, touching, command=FORWARD, sensor=None):
    (sensor or NoisyLoadSensor(planner))(touching)
    planner.command(command)
    return planner.step(DT)


def on_plane(planner, heights=(0.0,) * 6):
    """Contacts of the feet with ground at these heights [m] above the plane."""
    return [foot.z <= height + 0.001 for foot, height in zip(feet(planner), heights, strict=True)]


def walk(planner, seconds, heights=(0.0,) * 6, command=FORWARD):
    sensor = NoisyLoadSensor(planner)
    for _ in range(round(seconds / DT)):
        yield step(planner, on_plane(planner, heights), command, sensor)


@pytest.mark.parametrize(("name", "adaptation"), cases(NAMES, [FEET, LEVEL, Adaptation(True, True)]))
def test_without_a_sensor_the_walk_is_bit_identical_to_the_one_without_adaptation(name, adaptation):
    plain, other = standing_planner(name), adaptive_planner(name, adaptation)
    for k in range(320):  # a turn of the command
        command = Twist(0.05 * math.sin(0.02 * k), 0.02, 0.2 * math.cos(0.03 * k))
        plain.command(command), other.command(command)
        assert (plain.step(DT).joint_angles == other.step(DT).joint_angles).all()


@pytest.mark.parametrize("name", NAMES)
def test_on_flat_ground_foot_contacts_do_not_change_the_walk(name):
    plain, other = standing_planner(name), adaptive_planner(name)
    for plan in walk(other, 4.0):
        plain.command(FORWARD)
        assert plan.joint_angles == pytest.approx(plain.step(DT).joint_angles, abs=1e-9)


def assert_planted_feet_are_one_rigid_body(planner, before, twist):
    """Feet that stand keep their distances in space; seen from above they move but for the turn of the plane."""
    back, pairs = exp(twist, -DT), []
    for leg, (was, foot) in enumerate(zip(before, feet(planner), strict=True)):
        if was is not None and foot.planted and not (terrain(planner) and terrain(planner).feet[leg].sinking):
            pairs.append((was, (foot.x, foot.y, foot.z)))
            assert math.dist(back.apply(*was[:2]), (foot.x, foot.y)) < 2e-4
    for (p, q), (r, s) in combinations(pairs, 2):
        assert abs(math.dist(p, r) - math.dist(q, s)) < 1e-5


@pytest.mark.parametrize(("seed", "name"), cases(SEEDS, NAMES))
def test_soak_of_any_contacts_with_which_no_joint_is_too_fast_and_three_feet_stand(name, seed):
    """Contacts at random: speed and acceleration of every joint, planned support, reach, planted feet."""
    planner, rng = adaptive_planner(name), random.Random(seed)
    top = np.array([[SPEED_SHARE * joint.no_load_speed for joint in leg.joints] for leg in robot(name).legs])
    sensor, touching, last, speed = NoisyLoadSensor(planner), [True] * 6, None, None
    command = FORWARD
    for k in range(TICKS):
        touching = [down if rng.random() < 0.85 else rng.random() < 0.6 for down in touching]
        if k % 150 == 0:
            command = Twist(rng.uniform(-0.06, 0.06), rng.uniform(-0.04, 0.04), rng.uniform(-0.3, 0.3))
        before = [(foot.x, foot.y, foot.z) if foot.planted else None for foot in feet(planner)]
        plan = step(planner, touching, command, sensor)
        assert sum(plan.planted) >= 3
        if last is not None:
            now = (plan.joint_angles - last) / DT
            assert (np.abs(now) <= ROUNDED * top).all()
            if speed is not None:
                assert (np.abs(now - speed) <= top / SPEED_SHARE * DT / SPIN_UP_TIME_S).all()
            speed = now
        last = plan.joint_angles
        assert_planted_feet_are_one_rigid_body(planner, before, plan.twist)


def test_a_swing_ends_where_it_meets_the_ground_and_the_foot_stays_there():
    planner = adaptive_planner()
    heights = (0.015, 0.0, 0.0, 0.0, 0.0, 0.0)
    met = None
    for _ in walk(planner, 3.0, heights):
        foot = feet(planner)[0]
        if met is None and isinstance(foot.state, Dropping) and foot.state.touched:
            met = foot.z
            assert 0.01 < foot.state.end <= 0.0165  # about the height of the ground there
        if met is not None and foot.planted:
            break
    assert met is not None
    assert 0.01 < feet(planner)[0].z < 0.0165


def test_a_contact_in_the_first_half_of_a_swing_is_the_lift_off():
    planner = adaptive_planner()
    sensor = NoisyLoadSensor(planner)
    seen = 0
    for _ in range(200):
        touching = [foot.planted or (progress(foot) or 0.0) < EARLIEST_TOUCH_DOWN - 0.05 for foot in feet(planner)]
        before = [progress(foot) for foot in feet(planner)]
        step(planner, touching, FORWARD, sensor)
        for was, foot in zip(before, feet(planner), strict=True):
            if was is not None and was < EARLIEST_TOUCH_DOWN - 0.05:
                seen += 1
                assert isinstance(foot.state, Swing)
    assert seen > 50


def test_a_contact_in_the_second_half_of_a_swing_ends_it():
    planner = adaptive_planner()
    sensor = NoisyLoadSensor(planner)
    seen = 0
    for _ in range(120):
        before = [progress(foot) for foot in feet(planner)]
        late = [was is not None and 0.55 < was < 0.9 for was in before]
        touching = [foot.planted or ends for foot, ends in zip(feet(planner), late, strict=True)]
        step(planner, touching, FORWARD, sensor)
        for ends, foot in zip(late, feet(planner), strict=True):
            if ends:
                seen += 1
                assert not isinstance(foot.state, Swing)
    assert seen > 10


def swings(planner, seconds, edge):
    """The first foot's swings on rough ground as lists of (progress, x, z) [m]; below a height [m] an edge is met."""
    sensor, found = NoisyLoadSensor(planner), []
    for _ in range(round(seconds / DT)):
        foot, touching = feet(planner)[0], on_plane(planner)
        if terrain(planner) is not None:
            terrain(planner).roughness = 1.0
        was = progress(foot)
        touching[0] = touching[0] or (was is not None and 0.2 < was < EARLIEST_TOUCH_DOWN and foot.z < edge)
        step(planner, touching, FORWARD, sensor)
        foot = feet(planner)[0]
        if not isinstance(foot.state, Swing):
            continue
        if was is None:
            found.append([])
        found[-1].append((foot.state.progress, foot.x, foot.z))
    return found[1:-1]


def peak_height(swing):
    """Greatest height [m] of a swing."""
    return max(z for _, _, z in swing)


def half_travelled(swing):
    """Progress at which a swing has covered half of its travel."""
    return next(u for u, x, _ in swing if x >= (swing[0][1] + swing[-1][1]) / 2.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_foot_that_hits_an_edge_rises_over_it_and_then_continues(name):
    plain = swings(adaptive_planner(name), 8.0, 0.0)
    met = swings(adaptive_planner(name), 8.0, 1.1 * max(map(peak_height, plain)))
    assert len(met) > 3
    assert min(map(peak_height, met)) > max(map(peak_height, plain)) + TERRAIN_TOLERANCE  # less would be flat ground
    assert min(map(half_travelled, met)) > max(map(half_travelled, plain))
    # It makes up for the lost travel: it lands within a foot radius of where it would have landed.
    assert met[-1][-1][1] == pytest.approx(plain[-1][-1][1], abs=robot(name).foot_radius)


def test_on_rough_ground_a_swing_rises_before_it_travels_and_reaches_its_aim_before_it_descends():
    assert SMOOTH.towards(STEEP, 0.0) == SMOOTH
    for u in (0.0, 0.1, 0.3, 0.5, 0.7, 1.0):
        assert (SMOOTH.travel_share(u), SMOOTH.lift_progress(u)) == (swing_trajectory.smooth_travel(u), u)
    half = 0.25  # progress at which a smooth swing is half up
    steep_half = next(k / 1000 for k in range(1001) if STEEP.lift_progress(k / 1000) >= half)
    assert STEEP.travel_share(steep_half) < swing_trajectory.smooth_travel(half)
    assert STEEP.travel_share(STEEP.travel_end) == 1.0
    assert lift(STEEP.lift_progress(STEEP.travel_end), 1.0) > 0.0


def test_a_late_foot_sinks_at_a_bounded_speed_to_a_bounded_depth_while_the_clock_runs_on():
    planner = adaptive_planner()
    list(walk(planner, 1.0))
    sensor, deepest, fastest = NoisyLoadSensor(planner), 0.0, 0.0
    for _ in range(300):
        before, phase = feet(planner)[0].z, planner.view.gait_phase
        touching = [False, *on_plane(planner)[1:]]
        planted = feet(planner)[0].planted
        step(planner, touching, FORWARD, sensor)
        foot = feet(planner)[0]
        if planted and foot.planted:
            fastest = max(fastest, (before - foot.z) / DT)
        deepest = min(deepest, foot.z)
        assert planner.view.gait_phase != phase or terrain(planner).waiting
    # The plane follows the feet meanwhile, up or down.
    assert SEARCH_SPEED - HEIGHT_RATE < fastest <= SEARCH_SPEED + HEIGHT_RATE
    assert -1.1 * MAX_OFFSET_SHARE * robot("phantomx").walk.height <= deepest < -0.02


def test_a_lift_off_waits_for_three_feet_at_most_for_its_share_of_the_cycle_and_the_body_slows():
    planner = adaptive_planner()
    list(walk(planner, 4.0))
    speed, sensor = planner.step(DT).twist.vx, NoisyLoadSensor(planner)
    landing = [isinstance(foot.state, Swing) for foot in feet(planner)]
    while not any(landing):
        step(planner, [True] * 6, FORWARD, sensor)
        landing = [isinstance(foot.state, Swing) for foot in feet(planner)]
    waited, slowest = 0.0, speed
    while not any(
        isinstance(foot.state, Swing) and not down for foot, down in zip(feet(planner), landing, strict=True)
    ):
        plan = step(planner, [not down for down in landing], FORWARD, sensor)
        waited += DT * terrain(planner).waiting
        slowest = min(slowest, plan.twist.vx)
        assert waited < 1.0
    most = MAX_LIFT_OFF_DELAY * walk_of(planner).motion.clock.gait.cycle * walk_of(planner).speed.swing_time
    assert 0.5 * most < waited <= most + 2 * DT
    assert slowest < 0.5 * (1.0 + WAITING_SHARE) * speed  # at least half of what a waiting walk loses


LOSSES = {
    "silent": lambda source, sample, k: None,
    "frozen": lambda source, sample, k: source.take(sample),
    "NaN": lambda source, sample, k: source.take([math.nan] * len(sample)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_feet_are_back_on_the_plane_half_a_second_after_the_contacts_are_lost(loss):
    planner = adaptive_planner()
    heights = (0.012, -0.012, 0.0, 0.0, 0.01, -0.01)
    list(walk(planner, 4.0, heights))
    assert max(abs(foot.z) for foot in feet(planner) if foot.planted) > 0.005
    sample = planner.sensors.contacts.sample
    for k in range(round(RECOVERY_TIME_S / DT)):
        LOSSES[loss](planner.sensors.contacts, sample, k)
        planner.command(FORWARD)
        planner.step(DT)
    assert planner.sensors.contacts.fault is (SensorFault.FROZEN if loss == "frozen" else SensorFault.SILENT)
    assert terrain(planner) is None
    assert all(foot.z == 0.0 for foot in feet(planner) if foot.planted)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_tilt_is_zero_half_a_second_after_the_imu_is_lost(loss):
    planner = adaptive_planner(adaptation=LEVEL)
    level(planner, (0.02, -0.06), 4.0)
    assert math.hypot(*walk_of(planner).body.tilt) > 0.03
    sample = planner.sensors.imu.sample
    for k in range(round(RECOVERY_TIME_S / DT)):
        LOSSES[loss](planner.sensors.imu, sample, k)
        planner.command(FORWARD)
        planner.step(DT)
    assert not walk_of(planner).body.levelling


def level(planner, slope, seconds, command=FORWARD):
    """Walks on a plane of this roll and pitch [rad] with an ideal IMU; the tilts of the body."""
    tilts = []
    for k in range(round(seconds / DT)):
        tilt = walk_of(planner).body.tilt
        tilts.append((slope[0] + tilt[0], slope[1] + tilt[1]))
        planner.sensors.imu.take((*tilts[-1], 1e-6 * k))
        planner.command(command)
        planner.step(DT)
    return tilts


@pytest.mark.parametrize(
    ("name", "slope", "command"), cases(NAMES, [(0.05, 0.0), (0.0, -0.06), (-0.04, 0.04)], [ZERO, FORWARD])
)
def test_the_body_becomes_level_on_a_tilted_plane(name, slope, command):
    planner = adaptive_planner(name, LEVEL)
    assert math.hypot(*level(planner, slope, 5.0, command)[-1]) < math.radians(0.3)


@pytest.mark.parametrize(("pitch_deg", "low"), [(-25.0, True), (25.0, False), (-10.0, False)])  # up, down, gentle
def test_up_a_steep_slope_the_body_is_lower_until_it_sits_down(pitch_deg, low):
    planner = adaptive_planner(adaptation=Adaptation(touch_down=True, levelling=True))
    before = walk_of(planner).body.height
    for k in range(round(4.0 / DT)):
        tilt = walk_of(planner).body.tilt
        planner.sensors.imu.take((tilt[0], math.radians(pitch_deg) + tilt[1], 1e-6 * k))
        planner.sensors.contacts.take([5.0 if foot.planted else 0.0 for foot in feet(planner)])
        planner.command(FORWARD)
        planner.step(DT)
    assert (walk_of(planner).body.height < 0.9 * before) is low
    planner.sit()
    for _ in range(round(6.0 / DT)):
        planner.step(DT)
    assert planner.view.walk is None


def test_the_body_tilts_at_twice_the_error_per_second_and_with_bounded_acceleration():
    left = np.array([pitch for _, pitch in level(adaptive_planner(adaptation=LEVEL), (0.0, -0.1), 3.0, ZERO)])
    rates = np.diff(left) / DT
    assert np.abs(np.diff(rates)).max() / DT == pytest.approx(2.0)
    late = np.abs(left[1:-1]) < 0.05
    assert late.sum() > 20
    assert rates[1:][late] / left[1:-1][late] == pytest.approx([-2.0] * late.sum(), rel=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_the_tilt_stays_within_its_bound_and_the_robot_continues_to_walk(name):
    planner = adaptive_planner(name, LEVEL)
    level(planner, (0.0, -0.5), 5.0)
    assert math.hypot(*walk_of(planner).body.tilt) <= MAX_TILT + 1e-6
    assert planner.state is RobotState.WALKING
    assert planner.step(DT).twist.vx > 0.01  # [m/s] it walks, if slowly


def test_levelling_does_not_cancel_a_requested_pose():
    planner = adaptive_planner(adaptation=LEVEL)
    planner.request_pose(walk_of(planner).body.pose.now._replace(pitch=0.08))
    for k in range(200):
        achieved = walk_of(planner).body.pose.now.pitch
        tilt = walk_of(planner).body.tilt[1]
        planner.sensors.imu.take((0.0, achieved + tilt, 1e-6 * k))
        planner.step(DT)
    assert walk_of(planner).body.pose.now.pitch == pytest.approx(0.08)
    assert abs(walk_of(planner).body.tilt[1]) < 1e-3


def test_feet_and_body_return_first_when_the_adaptations_are_switched_off_or_the_robot_sits():
    planner = adaptive_planner(adaptation=Adaptation(True, True))
    sensor = NoisyLoadSensor(planner)
    for k in range(200):
        planner.sensors.imu.take((0.02, -0.04, 1e-6 * k))
        step(planner, on_plane(planner, (0.01, -0.01, 0.0, 0.0, 0.008, 0.0)), FORWARD, sensor)
    assert planner.sit() is None
    last = planner.step(DT).joint_angles
    for _ in range(1000):
        sensor([True] * 6)
        row = planner.step(DT).joint_angles
        assert np.abs(row - last).max() <= NO_LOAD_SPEED * SPEED_SHARE * DT * ROUNDED
        last = row
        if planner.state is RobotState.SITTING:
            break
    assert planner.state is RobotState.SITTING


def test_a_sensor_that_is_constant_while_the_robot_stands_is_valid():
    """Contact forces of a robot at rest may be the same for minutes."""
    source = SensorSource()
    source.take((1.0, 2.0))
    for _ in range(100):
        source.take((1.0, 2.0))
        source.step(DT, moving=False)
    assert source.fault is None
    for _ in range(20):
        source.take((1.0, 2.0))
        source.step(DT, moving=True)
    assert source.fault is SensorFault.FROZEN
    source.take((1.0, 2.1))
    assert source.fault is None


def test_a_sensor_is_used_only_while_it_is_switched_on():
    sensors = standing_planner("phantomx").sensors
    for _ in range(2):
        sensors.contacts.take([LOADED_N] * 6)
        sensors.imu.take((0.1, 0.1, 0.0))
    assert (sensors.touching, sensors.body_tilt) == (None, None)
    sensors.adaptation = FEET
    assert (sensors.touching, sensors.body_tilt) == ((True,) * 6, None)
    sensors.adaptation = LEVEL
    assert (sensors.touching, sensors.body_tilt) == (None, (0.1, 0.1))


def test_touching_has_hysteresis_between_its_two_thresholds():
    planner = adaptive_planner()
    contacts, even = planner.sensors.contacts, robot("phantomx").mass * GRAVITY / 6
    seen = []
    for share in (0.05, 0.09, 0.2, 0.09, 0.05):
        contacts.take([share * even] * 6)
        seen.append(contacts.feet[0])
    assert seen == [False, False, True, True, False]


# --- the same in physics ----------------------------------------------------------------------------------------


@cache
def walked_over(name):
    """Figures of a walk over a ground of rough_ground, approached faster."""
    robot_file, ground = load("phantomx"), GROUNDS[name]
    high_stepper = rough_ground.with_swing(robot_file.robot, rough_ground.HIGH_LIFT_M)
    run = rough_ground.standing_on(high_stepper, urdf(robot_file), ground)
    run.planner.command(Twist(APPROACH_SPEED, 0.0, 0.0))
    while planar_pose(run.simulation).x < NEAR_FIELD:
        run.tick()
    return rough_ground.walk(run, end=HALF_FIELD)


GROUNDS = {ground.name: ground for ground in rough_ground.GROUNDS}


def won_back(blind):
    """The ratio of a walk that wins back half of the way that is lost blind; the exact one depends on rounding."""
    return 0.5 * (1.0 + blind.ratio)


@pytest.mark.physics
def test_with_foot_contact_the_robot_gets_farther_over_blocks_than_blind_and_tilts_less():
    blind, found = walked_over("blocks 3 cm, blind"), walked_over("blocks 3 cm, foot contact")
    assert not found.fell
    assert found.ratio >= won_back(blind)
    assert found.tilt < blind.tilt


@pytest.mark.physics
def test_with_servo_load_the_robot_gets_as_far_as_with_foot_contact():
    blind, found = walked_over("blocks 3 cm, blind"), walked_over("blocks 3 cm, servo load")
    assert not found.fell
    assert found.ratio >= won_back(blind)
    assert found.tilt < blind.tilt


@pytest.mark.physics
def test_levelling_in_addition_reduces_the_tilt_on_blocks():
    feel, both = (walked_over(f"blocks 3 cm, {how}") for how in ("foot contact", "both"))
    assert not both.fell
    assert both.tilt < 0.75 * feel.tilt


@pytest.mark.physics
def test_up_a_slope_a_levelled_robot_covers_the_commanded_distance():
    found = walked_over("slope 15 deg, level")
    assert not found.fell
    assert 0.97 <= found.ratio <= 1.03  # the limit of rough_ground, on both sides
    assert found.tilt < rough_ground.SLOPE.slope_deg - 3.1  # [deg]; without levelling, 0.1 less than the slope


@pytest.mark.physics
@pytest.mark.parametrize("number", some([0, 4, 7], 4))
def test_on_flat_ground_both_adaptations_keep_the_limits_of_the_walk(number):
    robot_file, case = load("phantomx"), flat_ground.CASES[number]
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings())
    found = walked(simulation, case.course, lambda s, planner: SensingLockstep(s, planner, Adaptation(True, True)))
    assert not case.limits.broken_by(found), flat_ground.line(case, found)
