"""The simulated robot behind a servo bus: bytes on one side, physics on the other, and the walk is as good."""

import math
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger
from support.real_time.programs import PROGRAM
from support.real_time.ros_bench import Stream, overrides, twist

from hexapod_control.bringup import node_graph
from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.evaluation.performance.bus import bus_replay
from hexapod_control.evaluation.quality.lockstep import CONTROL_PERIOD_S
from hexapod_control.evaluation.quality.walk_quality import planar_pose
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import COMMAND, LATCHED
from hexapod_control.ros.row_messages import FootLayout
from hexapod_control.servos.emulator.physics_world import PhysicsWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose, standing_pose
from hexapod_control.sim.world_settings import WorldSettings

FILE = load("phantomx")


@pytest.fixture
def world():
    """Servos that are the joints of a standing robot; time passes by `world.step`."""
    simulation = Simulation(FILE.robot, urdf(FILE), WorldSettings(between_targets="linear"))
    simulation.reset(standing_pose(FILE.robot))
    then = [0.0]

    def advance(now):
        dt, then[0] = now - then[0], now
        simulation.step(made.reference(dt), dt)

    joints = servo_settings(FILE, "feetech_st", "the wire").joints
    made = PhysicsWorld(joints, PROTOCOLS["feetech_st"].scale, lambda: simulation, advance)
    made.engage()
    made.simulation, made.joints = simulation, joints
    return made


def test_a_servo_without_torque_gives_way_and_with_torque_stays_where_it_was_switched_on(world):
    before = world.simulation.data.qpos[2]
    world.step(0.3)
    assert world.simulation.data.qpos[2] < before - 0.004
    for index in range(world.count):
        world.torque(index, True)
    held = [world.position(index) for index in range(world.count)]
    world.step(1.0)
    moved = np.abs(np.subtract(held, [world.position(index) for index in range(world.count)]))
    assert moved.max() < 0.1 * world.scale.per_rad


def test_a_goal_is_reached_in_its_time_and_not_before(world):
    for index in range(world.count):
        world.torque(index, True)
    world.step(0.1)
    begin = float(world.references[0, 0])
    world.goal(0, world.joints[0].raw(begin + 0.2), 0.2)
    world.step(0.2)
    assert world.references[0, 0] == pytest.approx(begin + 0.1)
    world.step(0.35)
    assert world.references[0, 0] == pytest.approx(begin + 0.2)
    assert world.joints[0].angle(world.target(0)) == pytest.approx(begin + 0.2)


@pytest.mark.physics
@pytest.mark.parametrize("case", [bus_replay.CASES[0], bus_replay.CASES[3]], ids=lambda case: case.name)
def test_the_walk_over_feetech_servos_at_1_mbaud_keeps_twice_the_margins(case):
    found = bus_replay.measure(FILE, "feetech_st", case)
    assert not case.limits.broken_by(found), found


def test_only_the_driver_publishes_joints_and_only_the_simulator_the_ground_truth(bench, tmp_path):
    link = str(tmp_path / "bus")
    rows = {
        spec.executable: spec
        for spec in node_graph.specs("sim", {"bus": "feetech_st", "servo_port": link, "web": False})
    }
    wires = {name: rows[name].parameters for name in ("mujoco_sim", "servo_driver")}
    states, truth = (
        bench.listen(JointState, "joint_states"),
        bench.listen(OdometryMessage, "simulator/floating_base_state"),
    )
    holds = bench.listen(Bool, "armed", LATCHED)
    driver = bench.add(ServoDriverNode(parameter_overrides=overrides(**wires["servo_driver"])))
    simulator = bench.add(MujocoSimNode(parameter_overrides=overrides(**wires["mujoco_sim"])))
    bench.until(lambda: holds and holds[-1].data, 15.0, "armed")
    assert simulator.status()["torque"] is True
    bench.until(lambda: states and truth)
    assert {p.topic_name for p in driver.publishers} & {p.topic_name for p in simulator.publishers} <= {
        "/rosout", "/parameter_events", "/diagnostics"
    }  # fmt: skip
    assert np.abs(np.reshape(states[-1].position, (-1, 3)) - sitting_pose(FILE.robot)).max() < 0.1
    for pause in (True, False):
        assert bench.call(SetBool, "mujoco_sim/set_pause", SetBool.Request(data=pause)).success
    assert simulator.set_parameters_atomically([Parameter("friction", value=0.5)]).successful
    count = len(states)
    bench.until(lambda: len(states) > count + 10)
    assert (simulator.status()["friction"], simulator.status()["torque"], holds[-1].data) == ("0.5", True, True)
    assert np.abs(np.reshape(states[-1].position, (-1, 3)) - sitting_pose(FILE.robot)).max() < 0.1
    assert bench.call(Trigger, "disarm").success
    bench.until(lambda: not simulator.status()["torque"], 3.0, "torque off")
    answer = bench.call(Trigger, "mujoco_sim/reset_world")
    assert (answer.success, answer.message) == (True, "the robot is at the origin, with its joint angles")
    simulator.publish_final_state()
    assert not os.path.lexists(link)


@pytest.mark.heavy
def test_servo_loads_on_the_wire_show_which_feet_carry_load(bench, tmp_path):
    """Bytes, threads, messages and physics in real time: foot_states against the contacts of the simulation.

    Learning takes samples less than 50 ms apart, so it takes longer on a loaded machine.
    """
    link = str(tmp_path / "bus")
    rows = {
        row.executable: row for row in node_graph.specs("sim", {"bus": "feetech_st", "servo_port": link, "web": False})
    }
    driver = bench.add(ServoDriverNode(parameter_overrides=overrides(**rows["servo_driver"].parameters)))
    simulator = bench.add(MujocoSimNode(parameter_overrides=overrides(**rows["mujoco_sim"].parameters)))
    bench.add(InverseKinematicsNode())
    planner = bench.planner(False)
    bench.until(lambda: planner.planner.state is RobotState.SITTING, 15.0)
    assert bench.call(Trigger, "stand").success
    bench.until(lambda: planner.planner.state is RobotState.STANDING, 15.0, "standing")
    assert driver.status()["feet"].startswith("learning")
    agree, layout = [], FootLayout(FILE.robot)

    def compare(message):
        agree.append(np.mean((layout.forces(message) > 0.0) == (simulator.world.simulation.foot_forces > 0.02)))

    bench.probe.create_subscription(MultiDOFJointState, "foot_states", compare, COMMAND)
    Stream(bench, lambda: twist(0.06))
    bench.until(lambda: len(agree) >= 200, 60.0, "foot_states")
    assert np.mean(agree) >= 0.85  # reported loads are one or two periods old
    assert driver.status()["feet"].startswith("known")


@pytest.mark.parametrize(
    "wire",
    [("loopback", "/tmp/bus"), ("feetech_st", ""), ("feetech_st", "/none/bus")],
    ids=lambda wire: wire[0] + wire[1],
)
def test_a_bus_that_cannot_be_made_is_refused(bench, wire):
    with pytest.raises(ParameterError, match=r"bus"):
        MujocoSimNode(parameter_overrides=overrides(bus=wire[0], bus_port=wire[1]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bus", "feetech"], "--bus: unknown protocol 'feetech'; known: feetech_st"),
        (["--bus", "loopback"], "--bus: unknown protocol"),
        (["--bus", "feetech_st", "--speed", "2"], "--speed: must be 1 with --bus"),
    ],
)
def test_an_invalid_bus_is_refused_as_bad_input(words, message, capsys):
    assert main(["sim", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.heavy
def test_the_command_walks_over_an_emulated_bus():
    words = ["sim", "--demo", "--no-web", "--bus", "feetech_st", "--segment", "1.4"]
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=80.0, env=os.environ
    )
    ratios = [float(text) for text in re.findall(r"\d\.\d{3}(?= /|$|  )", found.stdout, re.M)]
    assert "turn on the spot" in found.stdout, found.stderr
    assert ratios
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("protocol", "rate", "timed"),
    [("feetech_st", 50.0, True), ("dynamixel1", 50.0, False), ("dynamixel1", 30.0, True), ("dynamixel2", 50.0, False)],
)
def test_positions_have_times_where_all_servos_are_read_in_a_cycle_and_move_evenly(protocol, rate, timed):
    settings = replace(servo_settings(FILE, protocol, "the wire"), baud=1_000_000, rate=rate)
    simulation = Simulation(FILE.robot, urdf(FILE), WorldSettings(between_targets="linear"))
    run = bus_replay.BusLockstep(settings, simulation, Planner(FILE.robot))
    assert (run.driver.snapshot.times is not None) == timed


@pytest.mark.physics
@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel1"])
def test_odometry_holds_however_many_servos_are_read_in_a_cycle(protocol):
    """Eighteen AX-12A servos are read in turn: each joint angle has its own age."""
    settings = replace(servo_settings(FILE, protocol, "the wire"), baud=1_000_000)
    simulation = Simulation(FILE.robot, urdf(FILE), WorldSettings(between_targets="linear"))
    simulation.reset(sitting_pose(FILE.robot))
    run = bus_replay.BusLockstep(settings, simulation, Planner(FILE.robot))
    run.stand()
    run.reach(Twist(0.06, 0.0, 0.0))
    odometry, begin = Odometry(FILE.robot), planar_pose(simulation)
    planted = (True,) * 6
    for _ in range(500):
        odometry.update(run.driver.snapshot.joints, [float(down) for down in planted], CONTROL_PERIOD_S)
        planted = run.tick().planted
    way = begin.inverse() @ planar_pose(simulation)
    assert way.x > 0.5
    assert math.dist((odometry.pose.x, odometry.pose.y), (way.x, way.y)) < 0.02 * way.x
