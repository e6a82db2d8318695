# SPDX-License-Identifier: Apache-2.0
"""Time, pauses, resets and torque of the world of mujoco_sim, at times that the test sets."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench
from std_srvs.srv import SetBool, Trigger
from support.kits.plain_node import Moment, PlainNode
from support.phantomx import standing_joints

from hexapod_control.config.robots.robot_file import load
from hexapod_control.nodes.mujoco_sim import running_world
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MAX_PUSH, PUSH_DURATION_S, WorldServices
from hexapod_control.nodes.mujoco_sim.running_world import MAX_CATCH_UP_S, RunningWorld, SimulatedTorque
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.servos.driver.torque_switch import ESTOP_LATCHED
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

FILE = load("phantomx")


@pytest.fixture
def make(monkeypatch):
    """Makes a world and its time."""
    time = Moment()
    monkeypatch.setattr(running_world, "time", time)

    def world(**parameters):
        made = RunningWorld(FILE, SimulatorSettings(**parameters), WorldSettings())
        made.now = time
        return made

    return world


def passed(world, seconds):
    """Lets time pass. Returns how many steps are published, and by how much the published time grows [s]."""
    begin = world.time
    world.now.now += seconds
    return len(list(world.advance())), pytest.approx(world.time - begin, abs=0.0021)


def test_without_a_clock_the_world_makes_up_for_the_time_since_its_last_step_at_its_speed(make):
    world = make(sim_speed_factor=2.0)
    assert passed(world, 0.013) == (1, 0.026)
    assert passed(world, 0.0) == (1, 0.0)
    assert passed(world, 5.0) == (1, MAX_CATCH_UP_S) and world.dropped == 1
    assert world.steady == world.now.now


def test_with_a_clock_the_world_runs_in_steps_of_its_period(make):
    world = make(publish_clock=True, rate=100.0)
    assert world.period == 0.01
    assert passed(world, 0.035) == (3, 0.03)
    assert passed(world, 0.006) == (1, 0.01)
    assert world.steady == world.time
    world.catch_up()
    assert passed(world, 0.0) == (0, 0.0)


def test_with_a_clock_the_world_waits_for_the_targets_of_its_controller_and_does_not_make_up_for_it(make):
    world = make(publish_clock=True)
    world.note_targets(world.time)
    assert passed(world, 0.09) == (4, 0.04)  # two periods of 20 ms
    assert passed(world, 0.5) == (0, 0.0)
    world.note_targets(world.time)
    assert passed(world, 0.015) == (1, 0.01)
    assert world.last_targets_at == world.now.now - 0.015


def test_a_pause_stops_the_time_and_is_not_made_up_for(make):
    for clock in (False, True):
        world = make(publish_clock=clock)
        passed(world, 0.0205)
        world.now.now += 0.03
        world.pause()
        assert world.paused and world.time == pytest.approx(0.02 if clock else 0.05, abs=0.0021)
        begin = world.time
        world.now.now += 9.0
        world.catch_up()
        assert world.time == begin
        world.resume()
        world.resume()
        assert not world.paused and passed(world, 0.0505)[1] == 0.05 and world.dropped == 0


def test_a_pause_between_two_steps_ends_them(make):
    world = make(publish_clock=True)
    world.now.now += 0.055
    for count, _ in enumerate(world.advance(), start=1):
        if count == 2:
            world.pause()
    assert count == 2 and world.time == pytest.approx(0.02, abs=0.0021)


def test_a_pause_is_added_to_the_time_for_which_targets_may_be_missing(make, monkeypatch):
    for clock, expected in ((False, [pytest.approx(9.0)]), (True, [])):
        world, extended = make(publish_clock=clock), []
        monkeypatch.setattr(world.driver, "extend_watchdog", extended.append)
        world.resume()  # it is not paused
        world.now.now += 1.0
        world.pause()
        world.now.now += 9.0
        world.resume()
        assert extended == expected


@pytest.mark.parametrize(("beyond", "stays"), [(0.16, False), (0.25, True)])
def test_a_robot_far_from_its_targets_stays_where_it_is_after_a_pause(make, beyond, stays):
    world = make()
    world.driver.take(sitting_pose(FILE.robot) + np.array([0.0, beyond, 0.0]), None, world.steady)
    world.pause()
    command = world.driver.command.copy()
    assert 0.03 < np.abs(world.driver.target - command).max() < 0.2
    world.resume()
    world.step(1.0)
    assert bool(np.abs(world.driver.command - command).max() < 0.01) is stays


def test_a_reset_puts_the_robot_at_the_origin_while_the_published_time_goes_on(make):
    world = make()
    world.driver.take(standing_joints(), None, world.steady)
    for _ in range(20):
        passed(world, 0.1)
    assert world.simulation.data.qpos[2] > 0.05
    before, joints = world.time, world.simulation.joints
    world.simulation.data.qpos[:2] = 0.5
    world.now.now += 0.05
    world.reset()
    assert world.time == before and world.simulation.time == 0.0
    assert world.simulation.data.qpos[:2] == pytest.approx([0.0, 0.0])
    assert world.simulation.joints == pytest.approx(joints, abs=1e-6)
    assert world.driver.command == pytest.approx(standing_joints(), abs=0.05)
    assert passed(world, 0.02) == (1, 0.02) and world.time == pytest.approx(before + 0.02, abs=0.0021)


def test_another_load_changes_in_place_and_another_ground_resets_the_world(make):
    world = make()
    world.driver.take(standing_joints(), None, world.steady)
    for _ in range(20):
        passed(world, 0.1)
    before, height, first = world.time, world.simulation.data.qpos[2], world.simulation
    world.change(WorldSettings(payload=0.5))
    assert world.time == before and world.simulation is not first
    assert world.simulation.data.qpos[2] == pytest.approx(height) and world.driver.command == pytest.approx(
        standing_joints(), abs=0.05
    )
    joints = world.simulation.joints
    world.change(WorldSettings(world="bumps"))
    assert world.time == before and world.simulation.time == 0.0
    assert world.simulation.joints == pytest.approx(joints, abs=1e-6)
    assert world.driver.command == pytest.approx(standing_joints(), abs=0.05)


@pytest.mark.parametrize("world_name", ["flat", "bumps"])
def test_torque_that_is_off_stays_off_in_a_changed_world(make, world_name):
    world = make()
    assert world.armed
    world.torque.disarm()
    world.change(WorldSettings(world=world_name))
    passed(world, 0.1)
    assert not world.armed and not world.simulation.reading().joint_torque.any()
    world.torque.arm()
    passed(world, 0.1)
    assert world.armed and world.simulation.reading().joint_torque.any()


def test_targets_are_held_between_two_ticks_and_goals_of_a_bus_interpolated(make, tmp_path):
    held, bus = make(), make(bus="feetech_st", bus_port=str(tmp_path / "bus"))
    assert held.bus is None and bus.driver is bus.bus
    assert [each.simulation.world.settings.between_targets for each in (held, bus)] == ["hold", "linear"]


# --- torque ---------------------------------------------------------------------------------------------------


class Servos:
    """Records the calls of follower and servos."""

    joints = np.zeros((6, 3))
    servo_angles = np.arange(20.0)  # with two extra joints

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        return lambda *values: self.asked.append((name, *values))


def test_the_torque_goes_on_where_the_robot_is_unless_it_is_on_or_an_emergency_stop_is_latched():
    servos, extra = Servos(), Servos()
    torque = SimulatedTorque(servos, extra, lambda: servos, nullcontext())
    assert torque.armed and torque.arm() is None and servos.asked == []
    assert torque.disarm() is None and not torque.armed and servos.asked == [("release",)]
    assert torque.arm() is None and torque.armed
    assert servos.asked == [("release",), ("start", Servos.joints), ("engage",)]
    assert [(name, values.tolist()) for name, values in extra.asked] == [("start", [18.0, 19.0])]
    assert torque.press_estop() is None and torque.latched and not torque.armed
    assert torque.arm() == ESTOP_LATCHED and not torque.armed
    assert torque.reset_fault() and torque.latched  # it is still pressed
    torque.release_estop()
    assert torque.latched and torque.reset_fault() is None and not torque.latched
    assert torque.arm() is None and torque.armed


class Contended(nullcontext):
    """A lock for which a caller has to wait while `meanwhile` happens."""

    meanwhile = None

    def __enter__(self):
        happens, self.meanwhile = self.meanwhile, None
        if happens:
            happens()


def test_an_emergency_stop_that_is_pressed_while_the_torque_is_about_to_come_on_keeps_it_off():
    servos, lock = Servos(), Contended()
    torque = SimulatedTorque(servos, Servos(), lambda: servos, lock)
    torque.disarm()
    lock.meanwhile = torque.press_estop
    assert torque.arm() == ESTOP_LATCHED and not torque.armed
    assert ("engage",) not in servos.asked


# --- services -------------------------------------------------------------------------------------------------


class Locked:
    """A lock with the attribute `held`."""

    held = 0

    def __enter__(self):
        self.held += 1

    def __exit__(self, *_):
        self.held -= 1


class World:
    """A world that records its calls, and whether it is locked during each."""

    def __init__(self):
        self.lock, self.asked, self.paused, self.period, self.time, self.bus = Locked(), [], False, 0.01, 1.2345, None
        self.simulation = SimpleNamespace(push=lambda *what: self._note("push", *what))

    def _note(self, *what):
        assert self.lock.held
        self.asked.append(what)

    def __getattr__(self, name):
        return lambda *values: self._note(name, *values)


@pytest.fixture
def services():
    node, world = PlainNode(), World()
    WorldServices(node, world, lambda: world.asked.append(("publish",)))
    return node, world


def told(node, service, request=None):
    response = node.call(f"~/{service}", request or Trigger.Request())
    return response.success, response.message


def test_a_world_is_paused_and_resumed_and_steps_only_while_paused(services):
    node, world = services
    assert told(node, "set_pause", SetBool.Request(data=True)) == (True, "paused")
    assert told(node, "set_pause", SetBool.Request(data=False)) == (True, "running")
    assert told(node, "step_simulation") == (False, "the simulation runs: call set_pause with true first")
    assert world.asked == [("pause",), ("resume",)]
    world.paused = True
    assert told(node, "step_simulation") == (True, "simulated time is 1.234 s")
    assert world.asked[2:] == [("step", 0.01), ("publish",)]


def test_a_reset_of_the_world_is_confirmed(services):
    node, world = services
    assert told(node, "reset_world") == (True, "the robot is at the origin, with its joint angles")
    assert world.asked == [("reset",)]


def test_a_push_is_bounded_along_each_axis(services):
    node, world = services
    node.deliver("~/push", Wrench(force=Vector3(x=1e4, y=-1e4, z=3.0)))
    ((name, force, seconds),) = world.asked
    assert (name, force.tolist(), seconds) == ("push", [MAX_PUSH, -MAX_PUSH, 3.0], PUSH_DURATION_S)
    assert (MAX_PUSH, PUSH_DURATION_S) == (500.0, 0.2)
