# SPDX-License-Identifier: Apache-2.0
"""The simulated robot behind a servo bus: bytes on one side, physics on the other."""

import os

import numpy as np
import pytest
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger
from support.real_time.ros_bench import overrides

from hexapod_control.bringup import node_graph
from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.emulated_robot.physics_world import PhysicsWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose, standing_pose
from hexapod_control.sim.world_settings import WorldSettings

FILE = load("phantomx")


def servos_of(simulation):
    """Servos that are the joints of a standing robot; time passes by `step`."""
    simulation.reset(standing_pose(FILE.robot))
    then = [0.0]

    def advance(now):
        dt, then[0] = now - then[0], now
        simulation.step(made.reference(dt).reshape(-1, 3), dt)

    joints = servo_settings(FILE, "feetech_st", "the wire").joints
    made = PhysicsWorld(joints, PROTOCOLS["feetech_st"].scale, lambda: simulation, advance)
    made.engage()
    made.simulation, made.joints = simulation, joints
    return made


@pytest.fixture
def world():
    """An ideal robot."""
    return servos_of(Simulation(FILE.robot, urdf(FILE), WorldSettings(between_targets="linear")))


def test_servos_of_a_real_robot_report_their_own_zeros_a_sagging_supply_and_their_warmth():
    settings = WorldSettings(between_targets="linear", reality="worn", reality_seed=2)
    real = servos_of(Simulation(FILE.robot, urdf(FILE), settings))
    for index in range(real.count):
        real.torque(index, True)
    for tick in range(1, 101):
        real.step(0.02 * tick)
    reported = [joint.angle(real.position(index)) for index, joint in enumerate(real.joints)]
    simulation = real.simulation
    true = simulation.data.qpos[simulation.world.position]
    assert reported == pytest.approx(np.ravel(true - simulation.reality.zero_offset), abs=0.006)
    assert np.abs(true.ravel() - reported).max() > 0.03
    assert real.voltage(0) < 11.1 and max(real.temperature(index) for index in range(real.count)) > 35.0


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
    begin = float(world.references[0])
    world.goal(0, world.joints[0].raw(begin + 0.2), 0.2)
    world.step(0.2)
    assert world.references[0] == pytest.approx(begin + 0.1)
    world.step(0.35)
    assert world.references[0] == pytest.approx(begin + 0.2)
    assert world.joints[0].angle(world.target(0)) == pytest.approx(begin + 0.2)


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
