# SPDX-License-Identifier: Apache-2.0
"""Mishaps in physics: the robot freezes, slows down or stops, within its joint limits, and continues on request."""

import math

import numpy as np
import pytest
from sensing_lockstep import SensingLockstep, tilt

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

FORWARD = Twist(0.1, 0.0, 0.0)
UPRIGHT_DEG = 5.0  # largest tilt of a robot that walks again
STALL_TIME_S = 2.0  # a servo tolerates its stall torque for so long before its overload protection acts
BEYOND_LIMIT_RAD = 0.1  # by which a blow bends a joint beyond its limit


class Walk(SensingLockstep):
    """A walking robot with all sensors, on which forces act; every tick is checked."""

    def __init__(self, world=None, name="phantomx"):
        robot_file = load(name)
        simulation = Simulation(robot_file.robot, urdf(robot_file), world or WorldSettings())
        simulation.reset(sitting_pose(robot_file.robot))
        super().__init__(simulation, Planner(robot_file.robot), Adaptation())
        self.force = None  # called before every physics step
        self.planner.sensors.mishap_detection = MishapDetection(falls=True, legs=True)
        self._stalled = np.zeros((len(robot_file.robot.legs), 3))
        ends = [[(joint.lower, joint.upper) for joint in leg.joints] for leg in robot_file.robot.legs]
        self._lower, self._upper = np.moveaxis(np.array(ends), -1, 0)
        self.kinds = set()  # of mishaps so far
        self.stand()

    def follow(self, targets, observe):
        super().follow(targets, self.force)

    def run(self, seconds, twist=None, until=None):
        """Runs until a condition holds, which must be within the time."""
        for _ in range(round(seconds / CONTROL_PERIOD_S)):
            if twist is not None:
                self.planner.command(twist)
            plan = self.tick()
            self._check(plan)
            if until is not None and until():
                return
        assert until is None, f"{self.planner.state}, {self.mishap}"

    def _check(self, plan):
        reading = self.simulation.reading()
        assert (plan.joint_angles >= self._lower).all() and (plan.joint_angles <= self._upper).all()
        assert (reading.joints >= self._lower - BEYOND_LIMIT_RAD).all()
        assert (reading.joints <= self._upper + BEYOND_LIMIT_RAD).all()
        self._stalled = np.where(self.simulation.saturated, self._stalled + CONTROL_PERIOD_S, 0.0)
        assert self._stalled.max() < STALL_TIME_S
        if self.mishap is not None:
            self.kinds.add(self.mishap.kind)

    @property
    def mishap(self):
        return self.planner.view.mishap

    def is_in(self, state):
        return lambda: self.planner.state is state

    @property
    def tilt(self):
        roll, pitch = tilt(self.simulation)
        return math.degrees(math.acos(math.cos(roll) * math.cos(pitch)))


class Hand:
    """Holds the body of a robot level and lifts it by 15 cm."""

    def __init__(self, walk):
        self._walk, self.rate = walk, 0.3  # [m/s]
        self._low = self._height = walk.simulation.data.qpos[2]
        walk.force = self

    def __call__(self, simulation):
        data, base, weight = simulation.data, simulation.world.base, simulation.robot.mass * GRAVITY
        self._height += self.rate * simulation.model.opt.timestep
        self._height = min(max(self._height, self._low - 0.02), self._low + 0.15)
        force = weight + 400.0 * (self._height - data.qpos[2]) - 40.0 * data.qvel[2]
        data.xfrc_applied[base, 2] = min(max(force, 0.0), 2.5 * weight)
        data.xfrc_applied[base, 3:] = -2.0 * data.qpos[4:7] - 0.2 * data.qvel[3:6]

    def let_go(self):
        self._walk.force = None
        self._walk.simulation.data.xfrc_applied[:] = 0.0


def test_a_robot_that_is_pushed_over_freezes_and_stands_up_again_once_it_lies_on_its_belly():
    walk = Walk()
    walk.run(1.2, FORWARD)
    walk.simulation.push(np.array([0.0, 60.0, 10.0]), 0.4)
    walk.run(3.0, FORWARD, until=walk.is_in(RobotState.FALLEN))
    walk.run(2.0, FORWARD)
    joints = walk.planner.view.joint_angles
    assert np.array_equal(joints, walk.planner.view.joint_angles)
    walk.simulation.data.qpos[3:7] = (1.0, 0.0, 0.0, 0.0)  # it is laid on its belly
    walk.simulation.data.qvel[:6] = 0.0
    walk.run(1.0)
    assert walk.planner.recover() is None
    walk.run(12.0, until=walk.is_in(RobotState.STANDING))
    walk.run(1.0, FORWARD)
    assert walk.planner.state is RobotState.WALKING and walk.tilt < UPRIGHT_DEG


def test_a_robot_on_its_back_refuses_to_recover():
    walk = Walk()
    walk.simulation.data.qpos[3:7] = (0.0, 1.0, 0.0, 0.0)
    walk.simulation.data.qpos[2] = 0.1
    walk.run(1.0, until=walk.is_in(RobotState.FALLEN))
    assert str(walk.planner.recover()).startswith("the robot lies upside down (roll ")


def test_a_lifted_robot_holds_its_legs_and_walks_again_only_on_a_new_command():
    walk = Walk()
    walk.run(1.2, FORWARD)
    hand = Hand(walk)
    walk.run(2.0, FORWARD, until=walk.is_in(RobotState.CARRIED))
    walk.run(0.5, FORWARD)
    joints = walk.planner.view.joint_angles
    walk.run(1.0, FORWARD)
    assert np.array_equal(joints, walk.planner.view.joint_angles)
    hand.rate = -0.1
    walk.run(2.0)
    hand.let_go()
    walk.run(0.5)
    assert walk.planner.state is RobotState.CARRIED and walk.tilt < 15.0
    walk.run(1.5, FORWARD)
    assert walk.planner.state is RobotState.WALKING and walk.tilt < UPRIGHT_DEG


def test_a_jammed_leg_is_named_and_relieved_and_the_robot_walks_once_it_is_free():
    walk = Walk()
    walk.run(1.2, FORWARD)
    data, world = walk.simulation.data, walk.simulation.world
    joint = world.velocity[0, 2]
    angle = float(walk.simulation.joints[0, 2]) + 0.5  # bent upwards by what it is caught in

    def jam(_):
        data.qfrc_applied[joint] = 60.0 * (angle - walk.simulation.joints[0, 2])

    walk.force = jam
    walk.run(4.0, FORWARD, until=lambda: walk.mishap is not None and walk.mishap.kind is MishapKind.STUCK)
    assert walk.mishap.text.startswith("left_front is stuck, its tibia is 0.")
    assert walk.mishap.text.endswith("the robot stops, then tries again; free the leg")
    walk.run(3.0)
    assert walk.planner.state is RobotState.MOVING, "it stands with this foot in the air"
    walk.force = None
    data.qfrc_applied[:] = 0.0
    walk.run(3.0, FORWARD)
    assert walk.planner.state is RobotState.WALKING and walk.tilt < UPRIGHT_DEG


def test_a_foot_caught_under_an_obstacle_slows_the_walk_and_comes_free():
    walk = Walk()
    walk.run(1.14, FORWARD)  # the foot is at the top of its swing
    data, foot = walk.simulation.data, walk.simulation.world.feet[0]
    place = data.xpos[foot].copy()

    def hold(_):
        pull = 4000.0 * (place - data.xpos[foot])
        data.xfrc_applied[foot, :3] = pull * min(1.0, 120.0 / max(float(np.linalg.norm(pull)), 1e-9))

    walk.force = hold
    walk.run(6.0, FORWARD, until=lambda: walk.mishap is not None)
    assert walk.planner.view.speed_limit().vx < 0.5 * FORWARD.vx
    assert "left_front" in walk.mishap.text
    walk.run(0.2, FORWARD)  # after 3.5 s without way it would stop
    assert walk.tilt < 20.0  # [deg] it does not fall
    walk.force = None
    data.xfrc_applied[:] = 0.0
    walk.run(6.0, FORWARD)
    assert walk.planner.state is RobotState.WALKING and walk.mishap is None and walk.tilt < UPRIGHT_DEG


def test_a_robot_with_one_side_on_ice_stays_up_and_goes_where_it_is_sent():
    walk = Walk()
    model = walk.simulation.model
    model.geom_friction[:, 0] = 0.1
    left = [
        foot for foot, leg in zip(walk.simulation.world.feet, walk.planner.robot.legs, strict=True) if leg.hip[1] > 0
    ]
    model.geom_friction[np.isin(model.geom_bodyid, left), 0] = 0.8
    walk.run(1.0, FORWARD)
    start = walk.simulation.reading().position[0]
    walk.run(3.0, FORWARD)
    assert walk.simulation.reading().position[0] - start == pytest.approx(3.0 * FORWARD.vx, rel=0.05)
    assert not walk.kinds and walk.tilt < 3.0


def stairs(slope_deg):
    """A walk towards the edge of a step, made of the flat ground before and after a slope."""
    walk = Walk(WorldSettings(world="slope", slope_deg=slope_deg))
    model = walk.simulation.model
    ramp = model.geom("ground_ramp").id
    model.geom_contype[ramp] = model.geom_conaffinity[ramp] = 0
    return walk


def test_a_robot_that_walks_over_a_high_stair_edge_stalls_no_servo_and_stops_if_it_falls():
    walk = stairs(-3.0)  # 43 cm
    walk.run(6.0, FORWARD)
    assert walk.kinds <= {MishapKind.FALLEN, MishapKind.CARRIED, MishapKind.SLOWED, MishapKind.STUCK}


def test_a_robot_that_hangs_on_a_stair_edge_stops_and_reports_it():
    walk = stairs(-1.0)
    walk.run(14.0, FORWARD, until=walk.is_in(RobotState.FALLEN))
    assert walk.mishap.text.startswith("the robot hangs (roll ") and walk.tilt < 40.0


def test_a_robot_that_makes_no_way_at_a_stair_edge_stops_and_says_which_leg_is_held():
    walk = stairs(-0.7)
    walk.run(14.0, FORWARD, until=lambda: walk.mishap is not None and walk.planner.state is RobotState.STANDING)
    assert walk.mishap.kind is MishapKind.HINDERED
    assert "right_middle are held" in walk.mishap.text or "right_middle is held" in walk.mishap.text
