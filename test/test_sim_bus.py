"""The simulated robot behind a servo bus: bytes on one side, physics on the other, and the walk is as good."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from ros_bench import overrides
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from hexapod_control import graph
from hexapod_control.bench import bus_walk
from hexapod_control.cli.main import main
from hexapod_control.nodes.base import LATCHED
from hexapod_control.nodes.mujoco_sim import MujocoSim
from hexapod_control.nodes.parameters import ParameterError
from hexapod_control.nodes.servo_driver import ServoDriver
from hexapod_control.robots.load import load
from hexapod_control.robots.urdf import urdf
from hexapod_control.servos.emulator.physics import PhysicsWorld
from hexapod_control.servos.protocols import PROTOCOLS
from hexapod_control.servos.settings import servo_settings
from hexapod_control.sim.settings import WorldSettings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start import sitting, standing

PROGRAM = "import sys; from hexapod_control.cli.main import main; sys.exit(main())"
FILE = load("phantomx")


@pytest.fixture
def world():
    """Servos that are the joints of a standing robot; time passes by `world.step`."""
    simulation = Simulation(FILE.robot, urdf(FILE), WorldSettings(between_targets="linear"))
    simulation.reset(standing(FILE.robot))
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
@pytest.mark.parametrize("case", [bus_walk.CASES[0], bus_walk.CASES[3]], ids=lambda case: case.name)
def test_the_walk_over_feetech_servos_at_1_mbaud_keeps_twice_the_margins(case):
    found = bus_walk.measure(FILE, "feetech_st", case)
    assert not case.limits.broken_by(found), found


def test_only_the_driver_speaks_of_joints_and_only_the_simulator_of_feet(bench, tmp_path):
    link = str(tmp_path / "bus")
    rows = {
        spec.executable: spec for spec in graph.specs("sim", {"bus": "feetech_st", "servo_port": link, "web": False})
    }
    wires = {name: rows[name].parameters for name in ("mujoco_sim", "servo_driver")}
    states, feet = bench.listen(JointState, "joint_states"), bench.listen(MultiDOFJointState, "foot_states")
    holds = bench.listen(Bool, "armed", LATCHED)
    driver = bench.add(ServoDriver(parameter_overrides=overrides(**wires["servo_driver"])))
    simulator = bench.add(MujocoSim(parameter_overrides=overrides(**wires["mujoco_sim"])))
    bench.until(lambda: holds and holds[-1].data, 15.0, "armed")
    assert simulator.status()["torque"] is True
    bench.until(lambda: states and feet)
    assert {p.topic_name for p in driver.publishers} & {p.topic_name for p in simulator.publishers} <= {
        "/rosout", "/parameter_events", "/diagnostics"
    }  # fmt: skip
    assert np.abs(np.reshape(states[-1].position, (-1, 3)) - sitting(FILE.robot)).max() < 0.1
    assert bench.call(Trigger, "disarm").success
    bench.until(lambda: not simulator.status()["torque"], 3.0, "torque off")
    assert bench.call(Trigger, "mujoco_sim/reset_world").success


@pytest.mark.parametrize(
    "wire",
    [("loopback", "/tmp/bus"), ("feetech_st", ""), ("feetech_st", "/none/bus")],
    ids=lambda wire: wire[0] + wire[1],
)
def test_a_bus_that_cannot_be_made_is_refused(bench, wire):
    with pytest.raises(ParameterError, match=r"bus"):
        MujocoSim(parameter_overrides=overrides(bus=wire[0], bus_port=wire[1]))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--bus", "feetech"], "--bus: unknown protocol 'feetech'; known: feetech_st"),
        (["--bus", "loopback"], "--bus: unknown protocol"),
        (["--bus", "feetech_st", "--speed", "2"], "--speed: must be 1 with --bus"),
    ],
)
def test_a_bus_that_makes_no_sense_is_bad_input(words, told, capsys):
    assert main(["sim", *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.process
def test_the_command_walks_over_an_emulated_bus():
    words = ["sim", "--demo", "--no-web", "--bus", "feetech_st", "--segment", "1.4"]
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=80.0, env=os.environ
    )
    ratios = [float(text) for text in re.findall(r"\d\.\d{3}(?= /|$|  )", found.stdout, re.M)]
    assert "turn on the spot" in found.stdout, found.stderr
    assert ratios
    assert "Traceback" not in found.stderr
