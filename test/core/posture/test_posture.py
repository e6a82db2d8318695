# SPDX-License-Identifier: Apache-2.0
"""Standing up from any pose, sitting down, and taking over a robot that already stands."""

import random
from itertools import pairwise, product

import numpy as np
import pytest
from support.drives import (
    DT,
    GAITS,
    ROBOTS,
    drive,
    robot,
    standing_planner,
)
from support.suite.soak import SOAK, cases, some

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.states import TORQUE_OFF
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE

POSES = 40 if SOAK else 16


def random_pose(name: str, rng: random.Random) -> np.ndarray:
    return np.array([[rng.uniform(j.lower, j.upper) for j in leg.joints] for leg in robot(name).legs])


def until(planner: Planner, state: RobotState, seconds: float) -> list[TickPlan]:
    plans = []
    for _ in range(round(seconds / DT)):
        plans.append(planner.step(DT))
        if planner.state is state:
            return plans
    raise AssertionError(f"not {state.value} after {seconds} s but {planner.state.value}")


def return_to_neutral(planner: Planner, seconds: float) -> list[TickPlan]:
    """Returns the plans of the return to the neutral stance; it must take at most `seconds`."""
    plans = []
    for plan in drive(planner, ZERO, seconds):
        plans.append(plan)
        if planner.view.in_neutral_stance:
            return plans
    raise AssertionError(f"not back after {seconds} s")


def assert_smooth(name: str, start: np.ndarray, plans: list[TickPlan]) -> None:
    top = np.array([[SPEED_SHARE * j.no_load_speed for j in leg.joints] for leg in robot(name).legs])
    lower = np.array([[j.lower for j in leg.joints] for leg in robot(name).legs])
    upper = np.array([[j.upper for j in leg.joints] for leg in robot(name).legs])
    last = start
    for plan in plans:
        if plan.joint_angles is not None:
            assert (np.abs(plan.joint_angles - last) <= top * DT * 1.0001).all()
            assert (plan.joint_angles >= lower - 1e-9).all() and (plan.joint_angles <= upper + 1e-9).all()
            last = plan.joint_angles
        assert plan.feet is None or plan.joint_motion is None  # never both in a tick
        assert plan.unreached is None


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_standing_up_from_every_in_limit_pose_has_no_joint_step(name):
    rng = random.Random(6)
    for _ in range(POSES):
        planner, start = Planner(robot(name)), random_pose(name, rng)
        planner.set_measured_joints(start)
        assert planner.stand() is None
        plans = until(planner, RobotState.STANDING, 25.0)
        assert_smooth(name, start, plans)
        assert planner.step(DT).margin > 0.0


@pytest.mark.parametrize(("name", "gait"), cases(ROBOTS, GAITS))
def test_sitting_down_from_walking_comes_to_rest_first_and_ends_on_the_belly(name, gait):
    planner = standing_planner(name, gait)
    plans = list(drive(planner, Twist(0.02, 0.01, 0.05), 4.0))
    assert planner.sit() is None
    rest = []
    for _ in range(round(20.0 / DT)):
        planner.command(Twist(0.02, 0.0, 0.0))  # a command that continues changes nothing
        rest.append(planner.step(DT))
        if planner.state is RobotState.SITTING:
            break
    assert planner.state is RobotState.SITTING
    assert_smooth(name, plans[-1].joint_angles, rest)
    assert [s for s in (plan.state for plan in rest) if s is RobotState.SINKING]
    machine = robot(name)
    belly = machine.body.center[2] - machine.body.size[2] / 2
    assert (rest[-1].feet[:, 2] - machine.foot_radius > belly).all()  # the body lies, the feet are clear of the ground


@pytest.mark.parametrize("name", ROBOTS)
def test_standing_up_can_be_turned_into_sitting_down_and_back_without_a_jump(name):
    planner = Planner(robot(name))
    start = random_pose(name, random.Random(7))
    planner.set_measured_joints(start)
    assert planner.stand() is None
    plans = []
    for k in range(1200):
        if k and k % 97 == 0:
            assert planner.sit() is None
        if k and k % 131 == 0:
            assert planner.stand() is None
        plans.append(planner.step(DT))
    assert_smooth(name, start, plans)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_descent_that_is_turned_back_leaves_the_feet_where_they_are(name):
    machine, planner, rng = robot(name), Planner(robot(name)), random.Random(12)
    about = [
        (x + rng.uniform(-0.002, 0.002), y + rng.uniform(-0.002, 0.002)) for x, y in planner.view.neutral_footholds()
    ]
    planner.set_measured_joints(np.array(joints_at_offset(machine, about, 0.0)))
    until(planner, RobotState.STANDING, 3.0)
    assert planner.sit() is None
    contacts = until(planner, RobotState.SINKING, 3.0)[-1].contacts
    assert np.abs(contacts - planner.view.neutral_footholds()).max() > 1e-4  # not worth a step
    plans = list(drive(planner, ZERO, 0.5))
    for turn in (planner.stand, planner.sit, planner.stand):
        assert turn() is None
        plans += drive(planner, ZERO, 0.3)
    assert planner.state is RobotState.RISING
    assert all(np.allclose(plan.contacts, contacts, atol=1e-12) for plan in plans)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_walking_robot_that_gets_a_sit_request_while_it_is_taken_over_sits_down(name):
    plan = list(drive(standing_planner(name), Twist(0.04, 0.02, 0.1), 1.5))[-1]
    planner = Planner(robot(name))
    planner.set_measured_joints(plan.joint_angles)
    assert planner.sit() is None
    until(planner, RobotState.SITTING, 20.0)


@pytest.mark.parametrize("left", [1, 5, 12, 30])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_with_a_stand_request_at_any_time_of_a_joint_motion_stands_up(name, left):
    planner = Planner(robot(name))
    planner.set_measured_joints(planner.view.lying_joints)
    assert planner.move_joints(planner.view.lying_joints + 0.1) is None
    twin = planner.copy()
    for _ in range(len(until(twin, RobotState.SITTING, 5.0)) - left):
        planner.step(DT)
    assert planner.stand() is None
    until(planner, RobotState.STANDING, 20.0)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_halt_pauses_standing_up_and_the_next_stand_continues_it(name):
    planner, start = Planner(robot(name)), random_pose(name, random.Random(8))
    planner.set_measured_joints(start)
    planner.stand()
    plans = [planner.step(DT) for _ in range(20)]
    planner.halt()
    held = [planner.step(DT) for _ in range(40)]
    assert all(
        np.array_equal(plan.joint_angles, held[-1].joint_angles) and not plan.joint_velocity.any()
        for plan in held[-20:]
    )
    assert planner.stand() is None
    assert_smooth(name, start, plans + held + until(planner, RobotState.STANDING, 15.0))


@pytest.mark.parametrize("name", ROBOTS)
def test_without_joint_states_standing_is_refused_with_the_remedy(name):
    planner = Planner(robot(name))
    assert "no joint_states" in str(planner.stand()) and "no joint_states" in str(planner.sit())
    plan = planner.step(DT)
    assert planner.state is RobotState.UNKNOWN and plan.feet is None and plan.joint_motion is None


@pytest.mark.parametrize("name", some(ROBOTS, "phantomx"))
def test_a_planner_started_on_a_walking_robot_takes_over_its_current_pose(name):
    """Fault: respawn of the planner while walking; no jump, no fall; swinging feet are lowered vertically."""
    walking = standing_planner(name)
    rng = random.Random(9)
    for _ in range(10):
        plan = list(drive(walking, Twist(0.04, 0.02, 0.1), rng.uniform(1.0, 2.0)))[-1]
        planner = Planner(robot(name))
        planner.set_measured_joints(plan.joint_angles)
        plans = until(planner, RobotState.STANDING, 3.0)
        assert_smooth(name, plan.joint_angles, plans)
        heights = forward(robot(name), plans[-1].joint_angles)[:, 2]
        assert np.ptp(heights) < 1e-3 and abs(heights.mean() - plan.feet[:, 2].min()) < 0.005  # it was not dropped
        back = return_to_neutral(planner, 6.0)
        assert_smooth(name, plans[-1].joint_angles, back)
        for foot, leg in zip(back[-1].contacts, robot(name).legs, strict=True):
            assert np.hypot(*(foot - leg.foothold)) <= 0.005


@pytest.mark.parametrize("name", ROBOTS)
def test_after_torque_off_feet_in_the_air_stay_there_until_a_request(name):
    walking = standing_planner(name)
    plan = next(plan for plan in drive(walking, Twist(0.04, 0.0, 0.0), 3.0) if np.ptp(plan.feet[:, 2]) > 0.01)
    walking.forget_pose()
    assert walking.stand() == walking.request_pose(NEUTRAL) == TORQUE_OFF
    walking.set_measured_joints(plan.joint_angles)
    plans = list(drive(walking, Twist(0.04, 0.0, 0.0), 1.0))
    assert walking.state is RobotState.RISING and all(
        there.feet is None and np.array_equal(there.joint_angles, plan.joint_angles) for there in plans
    )
    assert walking.stand() is None
    assert_smooth(name, plan.joint_angles, until(walking, RobotState.STANDING, 3.0))


def taken_over(planner):
    """The plans until a planner has taken over a robot on its feet, which it calls rising while the body is low."""
    plans = [planner.step(DT)]
    while not planner.view.on_feet:
        assert len(plans) < 3.0 / DT
        plans.append(planner.step(DT))
    return plans


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize("name", ROBOTS)
def test_stand_brings_a_body_that_was_found_low_to_its_neutral_height(name, at_once):
    low = standing_planner(name)
    low.request_pose(BodyPose(z=-0.02, pitch=0.03))
    plan = list(drive(low, ZERO, 2.0))[-1]
    planner = Planner(robot(name))
    planner.set_measured_joints(plan.joint_angles)
    start = plan.joint_angles if at_once else taken_over(planner)[-1].joint_angles
    assert planner.stand() is None
    plans = [planner.step(DT) for _ in range(round(3.0 / DT))]
    assert plans[-1].pose == pytest.approx(NEUTRAL, abs=1e-6)
    assert_smooth(name, start, plans)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_body_close_to_the_ground_counts_as_lying(name):
    machine = robot(name)
    offset = belly_height(machine) + 0.004 - machine.walk.height
    low = joints_at_offset(machine, standing_planner(name).view.neutral_footholds(), offset)
    planner = Planner(machine)
    planner.set_measured_joints(np.array(low))
    assert planner.state is RobotState.SITTING


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_a_planner_started_on_a_robot_in_any_pose_keeps_its_feet_and_its_tilt(name):
    rng = random.Random(10)
    for _ in range(POSES // 3):
        posed = standing_planner(name, rng.choice(GAITS))
        spread = (0.02, 0.02, 0.015, 0.12, 0.12, 0.15)
        posed.request_pose(BodyPose(*(rng.uniform(-1.0, 1.0) * most for most in spread)))
        plan = list(drive(posed, rng.choice((ZERO, Twist(0.03, 0.02, 0.1))), rng.uniform(0.2, 3.0)))[-1]
        planner = Planner(robot(name))
        planner.set_measured_joints(plan.joint_angles)
        plans = taken_over(planner)
        assert_smooth(name, plan.joint_angles, plans)
        assert all(sum(there.planted) >= 3 and there.margin > 0.0 for there in plans)
        found = planner.step(DT)
        assert found.pose[2:5] == pytest.approx(plan.pose[2:5], abs=1e-3) and all(found.planted)
        back = return_to_neutral(planner, 10.0)
        assert_smooth(name, plans[-1].joint_angles, back)
        assert all(sum(there.planted) >= 3 and there.margin > 0.0 for there in back)


@pytest.mark.parametrize("name", some(ROBOTS, "phantomx"))
def test_a_planner_started_on_a_posed_robot_finds_the_whole_body_pose(name):
    """The next requested pose is relative to the footholds, so an error in the found pose would be added to it."""
    rng = random.Random(11)
    for _ in range(POSES):
        posed = standing_planner(name)
        posed.request_pose(BodyPose(*(rng.uniform(-1.0, 1.0) * most for most in (0.02, 0.02, 0.0, 0.1, 0.1, 0.15))))
        plan = next(after for before, after in pairwise(drive(posed, ZERO, 3.0)) if after.pose == before.pose)
        planner = Planner(robot(name))
        planner.set_measured_joints(plan.joint_angles)
        until(planner, RobotState.STANDING, 3.0)
        assert planner.step(DT).pose == pytest.approx(plan.pose, abs=1e-3)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_body_takes_poses_while_feet_stay_and_while_walking(name):
    planner = standing_planner(name)
    goal = BodyPose(0.005, -0.005, 0.005, 0.04, -0.04, 0.05)
    planner.request_pose(goal)
    feet = planner.step(DT).contacts
    plans = list(drive(planner, ZERO, 1.5))
    assert plans[-1].pose == goal
    assert np.allclose(plans[-1].contacts, feet, atol=1e-12)
    walk = list(drive(planner, Twist(0.03, 0.0, 0.0), 3.0))
    assert walk[-1].pose == goal and tuple(walk[-1].twist) == pytest.approx((0.03, 0.0, 0.0))
    placement = Placement(goal, robot(name).walk.height)
    for center, down in zip(walk[-1].feet, walk[-1].planted, strict=True):
        if down:
            assert placement.to_footprint(*center)[2] == pytest.approx(robot(name).foot_radius, abs=1e-9)


@pytest.mark.parametrize(("name", "gait"), cases(ROBOTS, GAITS))
def test_in_a_pose_to_one_side_strides_are_short_enough_for_static_stability(name, gait):
    """Every gait meets every pose and every command twice; together the gaits meet every pair of them."""
    poses = (BodyPose(x=0.03), BodyPose(x=-0.03), BodyPose(y=0.03), BodyPose(x=0.02, y=0.02))
    commands = (Twist(0.2, 0.0, 0.0), Twist(-0.2, 0.0, 0.0), Twist(0.0, 0.2, 0.0), Twist(0.2, 0.1, 0.0))
    for (row, pose), (column, command) in product(enumerate(poses), enumerate(commands)):
        if (column - row - GAITS.index(gait)) % 4 < 2:
            planner = standing_planner(name, gait)
            planner.request_pose(pose)
            plans = list(drive(planner, command, 2.0))
            assert min(plan.margin for plan in plans) > 0.0
            assert plans[-1].pose == plans[-25].pose  # a pose in which it can walk has been reached


@pytest.mark.parametrize("name", ROBOTS)
def test_a_body_pose_out_of_reach_is_clamped_to_the_last_reachable_one_towards_it(name):
    planner = standing_planner(name)
    planner.request_pose(BodyPose(x=0.5, pitch=1.0))
    plan = list(drive(planner, ZERO, 4.0))[-1]
    assert plan.unreached is None
    assert 0.0 < plan.pose.x < 0.5 and plan.pose.pitch == pytest.approx(2.0 * plan.pose.x)
    planner.request_pose(NEUTRAL)
    assert list(drive(planner, ZERO, 4.0))[-1].pose == NEUTRAL


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_at_every_height_the_footholds_move_so_that_the_legs_stay_in_reach(name):
    """Article A6: the idle foot position moves inwards or outwards with the height; heights change while walking."""
    planner = standing_planner(name)
    stances = planner.capabilities.stances
    nominal = robot(name).walk.height
    for height in (stances.lowest + 0.005, nominal, stances.highest - 0.005):
        planner.request_pose(BodyPose(z=height - nominal))
        plans = list(drive(planner, Twist(0.02, 0.0, 0.0), 6.0))
        assert all(plan.unreached is None and plan.margin > 0.0 for plan in plans)
        assert plans[-1].pose.z == pytest.approx(height - nominal)
        assert plans[-1].twist.vx == pytest.approx(0.02)
    distances = [
        np.hypot(row.footholds[0][0] - robot(name).legs[0].hip[0], row.footholds[0][1] - robot(name).legs[0].hip[1])
        for row in stances.rows
    ]
    assert distances[0] > distances[-1]  # lower body: feet farther out


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_a_height_step_from_lowest_to_highest_is_ramped(name):
    planner = standing_planner(name)
    stances, nominal = planner.capabilities.stances, robot(name).walk.height
    before = planner.step(DT)
    for height in (stances.lowest, stances.highest, stances.lowest):
        planner.request_pose(BodyPose(z=height - nominal))
        plans = list(drive(planner, ZERO, 8.0))
        assert_smooth(name, before.joint_angles, plans)
        before = plans[-1]
        assert before.pose.z == pytest.approx(height - nominal, abs=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("dt", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tick_of_zero_duration_repeats_the_last_targets(name, dt):
    planner = standing_planner(name)
    plan = list(drive(planner, Twist(0.03, 0.0, 0.0), 1.0))[-1]
    again = planner.step(dt)
    assert np.array_equal(again.joint_angles, plan.joint_angles) and not again.joint_velocity.any()
