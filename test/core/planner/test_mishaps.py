# SPDX-License-Identifier: Apache-2.0
"""Falls, lifts, stuck legs and slipping feet: the robot freezes, slows down or stops, names the cause, and recovers."""

import itertools
import math

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.mishap_watch import MishapKind, standing_limit
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection

NAME = "phantomx"
FORWARD = Twist(0.1, 0.0, 0.0)
DEGREE = math.radians(1.0)
WATCHING = MishapDetection(falls=True, legs=True)
HALT_TIME_S = 0.5  # in which everything has come to rest


class Scene:
    """The planner of a standing robot with scripted sensors; measured joints follow unless a test holds one."""

    def __init__(self, mishap_detection=WATCHING):
        self.planner = standing_planner(NAME)
        self.planner.sensors.mishap_detection = mishap_detection
        self.roll = self.rate = 0.0
        self.silent = False  # whether the IMU is
        self.loaded = True  # None: the sensors of the feet are silent
        self.light = ()  # rows of feet without load
        self.held = {}  # measured angle by (leg, joint)
        self._noise = 0
        self.run(0.5)

    def run(self, seconds, twist=None):
        """Runs ticks with these sensors; returns the joint angles of each."""
        rows = []
        for _ in range(round(seconds / DT)):
            if twist is not None:
                self.planner.command(twist)
            self._sense()
            plan = self.planner.step(DT)
            rows.append(plan.joint_angles)
        return rows

    def _sense(self):
        self._noise += 1
        shiver, sensors, joints = 1e-6 * (self._noise % 2), self.planner.sensors, self.planner.view.joint_angles.copy()
        for place, angle in self.held.items():
            joints[place] = angle
        sensors.joints.take((joints + shiver).ravel().tolist())
        attitude = (self.roll + shiver, 0.0, 0.0, 0.0, self.rate, 0.0, 0.0, 9.81)
        if not self.silent:
            sensors.imu.take(attitude)
        # Without load a sensor repeats exactly the same sample.
        if self.loaded is not None:
            sensors.contacts.take([3.0 + shiver if self.loaded and row not in self.light else 0.0 for row in range(6)])

    @property
    def state(self):
        return self.planner.state

    @property
    def mishap(self):
        return self.planner.view.mishap


def at_rest(rows):
    return all(np.array_equal(a, b) for a, b in itertools.pairwise(rows))


@pytest.fixture
def scene():
    return Scene()


@pytest.fixture
def fallen(scene):
    scene.run(1.0, FORWARD)
    scene.roll = 70.0 * DEGREE
    scene.run(HALT_TIME_S, FORWARD)
    return scene


@pytest.fixture
def carried(scene):
    scene.run(1.0, FORWARD)
    scene.loaded = False
    scene.run(2 * HALT_TIME_S, FORWARD)
    return scene


@pytest.mark.parametrize("name", known_robots())
def test_every_robot_may_stand_in_any_attitude_that_it_can_take_on_a_slope_it_can_walk(name):
    assert 35.0 * DEGREE <= standing_limit(load(name).robot) <= 45.0 * DEGREE


def test_a_robot_that_falls_slows_down_gently_and_then_holds_every_joint_whatever_is_commanded(scene):
    scene.run(1.0, FORWARD)
    scene.roll = 70.0 * DEGREE
    rows = scene.run(HALT_TIME_S, FORWARD)
    speeds = np.abs(np.diff(rows, axis=0)).max(axis=(1, 2))
    assert scene.state is RobotState.FALLEN and scene.mishap.kind is MishapKind.FALLEN
    assert np.diff(speeds)[8:].max() <= 1e-9, "slower and slower"
    assert at_rest(scene.run(1.0, FORWARD))
    assert "roll 70 deg" in scene.mishap.text and "hexapod recover" in scene.mishap.text
    for refused in (scene.planner.stand(), scene.planner.request_pose(BodyPose(z=0.01))):
        assert str(refused) == scene.mishap.text
    scene.planner.halt()
    assert at_rest(scene.run(HALT_TIME_S))


@pytest.mark.parametrize(("roll", "seconds"), [(30.0, 2.0), (70.0, 0.08)])
def test_a_slope_or_a_short_jolt_is_no_fall(scene, roll, seconds):
    scene.roll = roll * DEGREE
    scene.run(seconds, FORWARD)
    scene.roll = 0.0
    scene.run(HALT_TIME_S, FORWARD)
    assert scene.state is RobotState.WALKING and scene.mishap is None


@pytest.mark.parametrize(
    ("roll", "light", "sits", "hangs"),
    [
        (19.0, (0, 1, 2, 3), False, True),
        (17.0, (0, 1, 2, 3), False, False),
        (19.0, (0, 1, 2), False, False),
        (19.0, (0, 1, 2, 3), True, False),
    ],
)
def test_a_tilted_robot_on_too_few_feet_hangs_unless_it_sits_down(scene, roll, light, sits, hangs):
    scene.run(1.0, FORWARD)
    scene.roll, scene.light = roll * DEGREE, light
    if sits:
        scene.planner.sit()
    scene.run(2.5, None if sits else FORWARD)
    assert (scene.state is RobotState.FALLEN) == hangs
    if hangs:
        assert scene.mishap.kind is MishapKind.FALLEN and scene.mishap.text.startswith("the robot hangs (roll 19 deg")
        assert scene.mishap.text.endswith("put it on level ground, then run hexapod recover")


@pytest.mark.parametrize("state", ["fallen", "carried"])
def test_a_frozen_robot_refuses_every_motion_with_its_mishap(state, request):
    frozen = request.getfixturevalue(state)
    planner, text = frozen.planner, frozen.mishap.text
    view = planner.view
    assert str(view.held_reason) == text and not view.waits_for_command and not view.on_feet and not view.lying_down
    assert (view.progress, view.at_rest) == (0.0, False)
    for refused in (
        planner.request_pose(BodyPose(z=0.01)),
        planner.guide_foot("left_front", (0.2, 0.2, 0.0)),
        planner.guide_foot_over_ground("left_front", (0.2, 0.2, 0.03)),
        planner.move_joints(view.joint_angles + 0.1),
        planner.move_feet(np.zeros((6, 3))),
    ):
        assert str(refused) == text
    assert planner.change_gait("wave") is None and at_rest(frozen.run(HALT_TIME_S))
    assert frozen.state.value == state


def test_a_robot_that_was_put_down_waits_for_a_command_other_than_zero(carried):
    carried.loaded = True
    carried.run(HALT_TIME_S)
    assert carried.planner.view.waits_for_command and carried.planner.view.held_reason is None
    carried.planner.command(ZERO)
    assert carried.state is RobotState.CARRIED
    carried.planner.command(FORWARD)
    assert carried.state is not RobotState.CARRIED


@pytest.mark.parametrize(
    ("requests", "ends"),
    [
        (("sit",), RobotState.SITTING),
        (("sit", "stand"), RobotState.STANDING),
        (("stand",), RobotState.STANDING),
        (("halt",), RobotState.FALLEN),
        (("halt", "recover"), RobotState.STANDING),
    ],
)
def test_while_the_legs_are_folded_requests_select_the_final_posture(fallen, requests, ends):
    fallen.roll, fallen.loaded = 0.0, False
    fallen.run(0.2)
    assert fallen.planner.recover() is None
    fallen.run(0.2)
    assert str(fallen.planner.request_pose(BodyPose(z=0.01))) == "ignored while rising: stand up first"
    assert 0.0 < fallen.planner.view.progress < 1.0 and not fallen.planner.view.lying_down
    for name in requests:
        getattr(fallen.planner, name)()
        fallen.run(0.1)
    assert (fallen.state is RobotState.SINKING) == (ends is RobotState.SITTING)
    fallen.run(9.0)
    assert fallen.state is ends


def test_a_robot_that_rises_while_tilted_stops_too(scene):
    scene.planner.sit()
    scene.run(6.0)
    scene.planner.stand()
    scene.run(0.3)
    scene.roll = -80.0 * DEGREE
    scene.run(HALT_TIME_S)
    assert scene.state is RobotState.FALLEN and at_rest(scene.run(0.2))


@pytest.mark.parametrize(
    ("loaded", "calls"),
    [(True, ("stand",)), (None, ("stand",)), (True, ("recover",)), (False, ("recover",)), (False, ("sit", "stand"))],
)
def test_after_a_fall_a_robot_on_its_feet_or_on_its_belly_stands_up_as_message_and_page_say(fallen, loaded, calls):
    for said in ("set it on its feet and run hexapod stand", "lay it on its belly and run hexapod recover"):
        assert said in fallen.mishap.text
    fallen.roll, fallen.loaded = 0.0, loaded
    fallen.run(1.0)
    for call in calls:
        assert getattr(fallen.planner, call)() is None
        fallen.run(6.0)
        fallen.loaded = True
    fallen.run(3.0)
    assert fallen.state is RobotState.STANDING and fallen.mishap is None


def test_a_robot_on_its_belly_recovers_by_folding_its_legs_and_standing_up(fallen):
    fallen.roll = 5.0 * DEGREE  # it has rolled back
    fallen.loaded = False
    fallen.run(0.2)
    assert fallen.planner.recover() is None
    assert fallen.state is RobotState.RISING
    folded = fallen.planner.view.lying_joints
    rows = fallen.run(3.0)
    settled = sum(np.abs(row - folded).max() < 1e-9 for row in rows)
    assert settled * DT == pytest.approx(1.0 + 0.6, abs=2.1 * DT)  # to settle on its belly, and of the shortest move
    fallen.loaded = True
    fallen.run(4.0)
    assert fallen.state is RobotState.STANDING and fallen.mishap is None
    steps = np.abs(np.diff([*rows], axis=0)) / DT
    assert (steps <= [[j.no_load_speed for j in leg.joints] for leg in robot(NAME).legs]).all()


def test_a_robot_on_its_side_folds_its_legs_and_stands_up_only_if_it_then_lies_on_its_belly(fallen):
    assert fallen.planner.recover() is None
    fallen.run(6.0)
    assert fallen.state is RobotState.FALLEN and np.allclose(
        fallen.planner.view.joint_angles, fallen.planner.view.lying_joints
    )
    assert at_rest(fallen.run(HALT_TIME_S))


def test_a_robot_on_its_back_is_refused_with_its_attitude(fallen):
    fallen.roll = 175.0 * DEGREE
    fallen.run(0.2)
    assert str(fallen.planner.recover()) == (
        "the robot lies upside down (roll 175 deg, pitch 0 deg): turn it over, then run hexapod recover"
    )
    assert fallen.state is RobotState.FALLEN and at_rest(fallen.run(HALT_TIME_S))


@pytest.mark.parametrize(("roll", "folds"), [(99.0, True), (101.0, False)])
def test_a_robot_counts_as_upside_down_beyond_100_degrees(fallen, roll, folds):
    fallen.roll = roll * DEGREE
    fallen.run(0.2)
    assert (fallen.planner.recover() is None) == folds


def test_without_an_attitude_recover_is_refused_with_the_remedy(fallen):
    for _ in range(20):
        fallen.planner.step(DT)
    refusal = fallen.planner.recover()
    assert str(refusal).startswith(
        "the attitude is unknown, as imu/data brings no orientation: lay the robot on its belly"
    )
    assert fallen.planner.sit() is None
    for _ in range(300):
        fallen.planner.step(DT)
    assert fallen.state is RobotState.SITTING


@pytest.mark.parametrize("state", ["fallen", "carried"])
@pytest.mark.parametrize("loaded", [True, False, None])
@pytest.mark.parametrize("roll", [0.0, 70.0, None])  # [deg], None: the IMU is silent
@pytest.mark.parametrize("folds", [False, True])
def test_the_request_that_a_mishap_names_is_accepted_and_ends_it(state, loaded, roll, folds, request):
    scene = request.getfixturevalue(state)
    if folds:  # a stop while it folds its legs
        assert scene.planner.sit() is None
        scene.run(0.3)
        scene.planner.halt()
    scene.loaded, scene.silent = loaded, roll is None
    scene.roll = (roll or 0.0) * DEGREE
    scene.run(HALT_TIME_S)
    assert getattr(scene.planner, scene.mishap.request)() is None, scene.mishap
    scene.roll = 0.0
    scene.run(8.0)
    assert scene.state in (RobotState.STANDING, RobotState.SITTING)


def test_a_tilted_robot_that_lies_does_not_stand_up(scene):
    scene.planner.sit()
    scene.run(6.0)
    scene.roll = 90.0 * DEGREE
    scene.run(0.3)
    assert str(scene.planner.stand()) == "the robot is tilted (roll 90 deg, pitch 0 deg): lay it on its belly first"
    assert scene.planner.recover() == scene.planner.stand()


def test_recover_is_refused_while_nothing_has_happened(scene):
    assert str(scene.planner.recover()) == "the robot has not fallen: nothing to recover from"
    unknown = Planner(robot(NAME))
    assert unknown.recover() == unknown.stand() is not None


def test_a_stop_ends_a_recovery(fallen):
    fallen.roll = 0.0
    fallen.loaded = False
    fallen.run(0.2)
    fallen.planner.recover()
    fallen.run(0.3)
    fallen.planner.halt()
    fallen.run(HALT_TIME_S)
    assert fallen.state is RobotState.FALLEN and at_rest(fallen.run(HALT_TIME_S))


def test_a_robot_that_was_lifted_holds_and_does_not_walk_in_the_air(carried):
    assert carried.state is RobotState.CARRIED and "no foot bears load" in carried.mishap.text
    assert at_rest(carried.run(1.0, FORWARD))
    assert carried.planner.recover() == carried.planner.stand() == carried.mishap.refusal


def test_a_robot_that_was_put_down_continues_with_a_new_command(carried):
    carried.loaded = True
    assert at_rest(carried.run(1.0))
    carried.run(1.0, FORWARD)
    assert carried.state is RobotState.WALKING and carried.mishap is None


def test_a_robot_that_was_put_down_recovers_standing_with_its_feet_down(carried):
    carried.loaded = True
    carried.run(HALT_TIME_S)
    assert carried.planner.recover() is None
    carried.run(2.0)
    assert carried.state is RobotState.STANDING and all(carried.planner.step(DT).planted)


def test_without_its_foot_sensors_a_robot_that_was_put_down_recovers_on_request_only(carried):
    carried.loaded = None
    assert at_rest(carried.run(1.0, FORWARD)) and carried.state is RobotState.CARRIED
    assert carried.planner.recover() is None
    carried.run(2.0)
    assert carried.state is RobotState.STANDING and carried.mishap is None


@pytest.mark.parametrize("attitude_known", [True, False])
def test_a_lifted_robot_that_was_stopped_while_it_folded_its_legs_recovers(carried, attitude_known):
    assert carried.planner.sit() is None
    carried.run(0.3)
    carried.planner.halt()
    carried.run(HALT_TIME_S)
    assert carried.state is RobotState.CARRIED
    if not attitude_known:
        carried.planner.sensors.mishap_detection = MishapDetection()
    carried.loaded = True
    carried.run(HALT_TIME_S)
    assert carried.planner.recover() is None
    carried.run(8.0)
    assert carried.state is RobotState.STANDING


def test_a_robot_that_is_turned_over_while_it_is_carried_counts_as_fallen(carried):
    carried.roll = 90.0 * DEGREE
    carried.run(HALT_TIME_S)
    assert carried.state is RobotState.FALLEN


def test_a_sensor_that_never_reported_load_does_not_stop_the_robot():
    scene = Scene(MishapDetection())
    scene.loaded = False
    scene.run(1.0)
    scene.planner.sensors.mishap_detection = MishapDetection(falls=True)
    scene.run(2.0, FORWARD)
    assert scene.state is RobotState.WALKING


def test_a_leg_that_does_not_follow_slows_the_walk_then_stops_it_by_name_and_its_servos_are_eased(scene):
    scene.run(1.0, FORWARD)
    scene.held[1, 1] = scene.planner.view.joint_angles[1, 1] + 1.0
    scene.run(0.4, FORWARD)
    assert scene.mishap.kind is MishapKind.SLOWED and scene.planner.view.speed_limit().vx < 0.5 * FORWARD.vx
    assert "left_middle lags behind, its femur is " in scene.mishap.text
    assert ": the robot walks slowly and lifts this leg higher; " in scene.mishap.text
    heights = []
    while scene.state is not RobotState.MOVING and len(heights) < 100:
        heights.append([foot.z for foot in scene.planner.view.walk.motion.feet])
        scene.run(DT, FORWARD)
    assert scene.mishap.kind is MishapKind.STUCK
    assert scene.mishap.text.startswith("left_middle is stuck, its femur is ")
    assert np.max(heights) > 0.02 and heights[-1] == pytest.approx([0.0] * 6, abs=1e-3), "the walk comes to rest first"
    scene.run(3.0)
    assert scene.state is RobotState.MOVING, "it stands with this foot in the air"
    assert scene.planner.view.joint_angles[1, 1] == pytest.approx(scene.held[1, 1], abs=0.01)
    scene.held.clear()
    scene.run(4.0)
    assert scene.mishap is None
    scene.run(2.0, FORWARD)
    assert scene.state is RobotState.WALKING and scene.mishap is None


def test_a_foot_that_a_stuck_leg_holds_in_the_air_is_set_down_without_a_command_once_the_leg_follows_again(scene):
    scene.run(1.0, FORWARD)
    scene.held[1, 1] = scene.planner.view.joint_angles[1, 1] + 1.0
    scene.run(1.5, FORWARD)
    assert scene.mishap.kind is MishapKind.STUCK
    scene.run(9.0)
    assert scene.state is RobotState.MOVING, "also after a trial: this foot is in the air"
    scene.held.clear()
    scene.run(8.0)
    assert scene.state is RobotState.STANDING and [foot.z for foot in scene.planner.view.walk.motion.feet] == [0.0] * 6


def test_a_leg_that_lagged_lifts_its_foot_higher_for_some_steps(scene):
    def tops(seconds):
        rows = []
        for _ in range(round(seconds / DT)):
            scene.run(DT, FORWARD)
            rows.append([foot.z for foot in scene.planner.view.walk.motion.feet])
        return np.max(rows, axis=0)

    scene.run(1.0, FORWARD)
    scene.held[1, 1] = scene.planner.view.joint_angles[1, 1] + 1.0
    scene.run(0.3, FORWARD)
    assert ": the robot walks slowly and lifts this leg higher; " in scene.mishap.text
    scene.held.clear()
    lift = robot(NAME).walk.lift_height
    assert tops(2.0) == pytest.approx([lift, 1.5 * lift, *[lift] * 4], rel=0.02)
    scene.run(3.0, FORWARD)
    assert tops(2.0) == pytest.approx([lift] * 6, rel=0.02)


@pytest.mark.parametrize("end", ["sit", "disabled"])
def test_a_slow_walk_is_not_reported_any_more_some_seconds_after_its_end(scene, end):
    scene.run(1.0, FORWARD)
    scene.held[1, 1] = scene.planner.view.joint_angles[1, 1] + 1.0
    scene.run(0.4, FORWARD)
    assert scene.mishap.kind is MishapKind.SLOWED
    scene.held.clear()
    if end == "sit":
        scene.planner.sit()
    else:
        scene.planner.sensors.mishap_detection = MishapDetection()
    scene.run(4.0)
    assert scene.mishap is None


def test_feet_that_slip_slow_the_walk_and_are_named(scene):
    scene.run(1.0, FORWARD)
    scene.rate = 0.5
    scene.run(1.0, FORWARD)
    assert scene.mishap.kind is MishapKind.SLOWED and " slip: the robot turns by 0." in scene.mishap.text
    assert scene.mishap.text.endswith("it walks slowly; look for slippery ground")
    assert "left_" in scene.mishap.text or "right_" in scene.mishap.text
    assert scene.planner.view.speed_limit().vx < 0.5 * FORWARD.vx
    scene.rate = 0.0
    scene.run(8.0, FORWARD)
    assert scene.mishap is None and scene.planner.view.speed_limit().vx == pytest.approx(FORWARD.vx)


@pytest.mark.parametrize("trouble", ["roll", "loaded", "held", "rate"])
def test_disabled_detectors_and_corrections_change_nothing(trouble):
    calm, troubled = Scene(MishapDetection()), Scene(MishapDetection())
    for scene in (calm, troubled):
        scene.planner.sensors.adaptation = Adaptation(course=0.0, trim=0.0)
    values = {"roll": 1.5, "loaded": False, "held": {(0, 0): 2.0}, "rate": 1.0}
    setattr(troubled, trouble, values[trouble])
    assert np.array_equal(calm.run(2.0, FORWARD), troubled.run(2.0, FORWARD))
    assert troubled.mishap is None


def test_walking_turning_and_stopping_is_no_mishap(scene):
    for twist in (FORWARD, Twist(0.0, 0.0, 0.5), Twist(-0.05, 0.05, 0.2), ZERO):
        scene.rate = twist.wz
        scene.run(2.0, twist)
        assert scene.mishap is None


@pytest.mark.parametrize("bent", [0.12, -0.12])
def test_after_a_fall_a_joint_that_the_ground_bends_gives_way_and_the_others_hold(fallen, bent):
    before, (leg, joint) = fallen.planner.view.joint_angles, (4, 0)
    fallen.held[leg, joint] = before[leg, joint] + bent
    rows = fallen.run(2.0, FORWARD)
    servo = robot(NAME).legs[leg].joints[joint]
    steps = np.abs(np.diff([before, *rows], axis=0)).max(axis=0)
    assert steps[leg, joint] <= servo.no_load_speed * DT
    assert servo.stiffness * abs(fallen.held[leg, joint] - rows[-1][leg, joint]) < 0.5 * servo.stall_torque
    steps[leg, joint] = 0.0
    assert not steps.any() and fallen.state is RobotState.FALLEN


def test_a_lifted_robot_holds_a_joint_that_is_bent(carried):
    carried.held[4, 0] = carried.planner.view.joint_angles[4, 0] + 0.12
    assert at_rest(carried.run(2.0, FORWARD))
