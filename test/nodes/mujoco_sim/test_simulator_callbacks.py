# SPDX-License-Identifier: Apache-2.0
"""What the node mujoco_sim does in a tick and with its messages, with stand-ins for the world and its outputs."""

from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.parameter import Parameter
from support.kits.direct_topics import DirectTopics
from support.kits.plain_node import Moment
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import overrides

from hexapod_control.nodes.mujoco_sim import mujoco_sim
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.servos.driver.extra_joint_follower import ExtraJointFollower
from hexapod_control.servos.driver.target_follower import TargetFollower


class Part:
    """A stand-in that records its calls in a common list; `answers` are the return values of its methods."""

    def __init__(self, called, notes, **values):
        self._name, self._notes, self.answers = called, notes, {}
        vars(self).update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*values, **options):
            self._notes.append((f"{self._name}.{name}", *values, *options.values()))
            return self.answers.get(name)

        return call


class Lock:
    """A lock with the attribute `held`."""

    held = 0

    def __enter__(self):
        self.held += 1

    def __exit__(self, *_):
        self.held -= 1


class Simulator:
    """The node and its parts."""

    def __init__(self, bench, monkeypatch, *, bus=False, **parameters):
        self.topics, self.time, self.notes, self.made, timers = DirectTopics(monkeypatch), Moment(), [], {}, []
        part = lambda called, **values: Part(called, self.notes, **values)  # noqa: E731
        state = SimpleNamespace(status={"world": "flat"})
        self.simulation = part("simulation", model="the model", world=state)
        self.simulation.answers |= {"inertial": "felt", "reading": "seen"}
        follower = TargetFollower(robot(), standing_joints())
        self.bus = part("bus", name="feetech_st at 1000000 baud", armed=True) if bus else None
        self.world = part(
            "world",
            robot=robot(),
            bus=self.bus,
            driver=self.bus or follower,
            extra=ExtraJointFollower(()),
            torque=SimpleNamespace(latched=False),
            armed=True,
            paused=False,
            period=0.01,
            time=12.25,
            steady=77.0,
            dropped=3,
            lock=Lock(),
            publishes_clock=parameters.get("publish_clock", False),
            simulation=self.simulation,
            last_targets_at=self.time.now,
        )
        self.due = 1  # steps of a tick
        self.world.advance = self._advance
        self.driver = part("driver")
        monkeypatch.setattr(mujoco_sim, "time", self.time)
        monkeypatch.setattr(mujoco_sim, "RunningWorld", lambda *what: self.world)
        monkeypatch.setattr(mujoco_sim, "terrain_markers", lambda model: mujoco_sim.MarkerArray())
        for method in ("take", "watch", "hold"):
            monkeypatch.setattr(TargetFollower, method, self._follower(method))
        for name in (
            "SimulationOutput",
            "LidarOutput",
            "CloudOutput",
            "CameraOutput",
            "WorldServices",
            "StateRecording",
            "ViewerWindow",
        ):
            monkeypatch.setattr(mujoco_sim, name, self._maker(name))
        create = MujocoSimNode.create_timer

        def create_timer(node, period, callback, **options):
            timers.append((period, callback))
            return create(node, period, callback, **options)

        monkeypatch.setattr(MujocoSimNode, "create_timer", create_timer)
        self.node = bench.add(MujocoSimNode(parameter_overrides=overrides(**parameters)))
        self.period, self.tick = timers[-1]
        self.lidar = self.made["LidarOutput"][0]
        self.lidar.collisions = 4
        self.notes.clear()

    def _advance(self):
        assert self.world.lock.held
        for _ in range(self.due):
            self.notes.append(("step",))
            yield

    def _follower(self, method):
        return lambda follower, *values: getattr(self.driver, method)(*values) or ""

    def _maker(self, name):
        def make(*what, **options):
            self.made[name] = Part(name, self.notes), what, options
            return self.made[name][0]

        return make

    def noted(self):
        """The calls of the parts since the last call of this function."""
        found, self.notes[:] = list(self.notes), []
        return found

    def report(self, kind):
        found = self.node.sent_reports.get(kind)
        return found and (found.level, found.text)


@pytest.fixture
def make(bench, monkeypatch):
    return lambda **options: Simulator(bench, monkeypatch, **options)


def kinds(notes):
    return [name.rpartition(".")[2] if name != "step" else name for name, *_ in notes]


def test_every_step_is_published_joints_and_feet_after_every_second_one(make):
    made = make(camera_rate=10.0)
    made.due = 3
    made.tick()
    step = ["step", "inertial", "imu"]
    seen, rest = ["reading", "state"], ["publish"] * 3
    watched = ["watch"]
    assert kinds(made.noted()) == [*step, *rest, *step, *seen, *rest, *step, *rest, *watched]
    made.due = 1
    made.tick()
    found = made.noted()
    assert kinds(found) == [*step, *seen, *rest, *watched]
    (stamp,) = [note[2] for note in found if note[0] == "SimulationOutput.imu"]
    assert ("SimulationOutput.imu", "felt", stamp) in found and ("SimulationOutput.state", "seen", stamp) in found
    for part in ("LidarOutput", "CameraOutput"):
        assert (f"{part}.publish", made.simulation, stamp) in found
    assert ("driver.watch", 77.0) in found and not made.report("silence")


def test_after_a_step_by_hand_everything_is_published(make):
    made = make()
    publish = made.made["WorldServices"][1][2]
    for _ in range(2):
        publish()
        assert "state" in kinds(made.noted())


def test_without_a_camera_a_record_and_a_window_there_are_none(make):
    made = make()
    assert not {"CameraOutput", "StateRecording", "ViewerWindow"} & set(made.made)
    assert made.made["SimulationOutput"][2] == {"servos": True}
    assert made.made["SimulationOutput"][1][2] == made.made["LidarOutput"][1][2] == ""


def test_parts_get_the_prefix_and_their_settings(make):
    made = make(
        tf_frame_prefix="a/", camera_rate=10.0, record="run.npz", record_rate=20.0, headless=False, sim_speed_factor=2.0
    )
    assert [made.made[name][1][2] for name in ("SimulationOutput", "LidarOutput", "CameraOutput")] == ["a/"] * 3
    assert made.made["StateRecording"][1] == ("run.npz", 20.0)
    assert made.made["ViewerWindow"][1] == (made.node, made.simulation)
    assert made.period == 0.005


def test_the_record_gets_the_time_of_every_step_and_is_written_at_the_end(make):
    made = make(record="run.npz", publish_clock=True)
    made.tick()
    assert ("StateRecording.take", made.simulation, pytest.approx(12.25)) in made.noted()
    made.node.publish_final_state()
    assert made.noted() == [("StateRecording.save",)]


def test_a_record_that_cannot_be_written_is_an_error(make, monkeypatch):
    made = make(record="run.npz")
    monkeypatch.setattr(Part, "save", lambda part: (_ for _ in ()).throw(OSError("no space")), raising=False)
    made.node.publish_final_state()
    assert made.report("record") == (ReportLevel.ERROR, "the record was not written: no space")


def test_with_a_clock_stamps_are_simulated_time_which_is_repeated_while_it_stands_still(make):
    made = make(publish_clock=True)
    clocks = made.topics.sent["clock"]
    made.tick()
    assert [messages.nanoseconds(clock.clock) for clock in clocks] == [12_250_000_000]
    made.noted()
    made.world.paused, found = True, []
    for seconds in (0.09, 0.02, 0.09, 0.02):
        made.time.now += seconds
        made.tick()
        found.append(len(clocks))
    assert found == [1, 2, 2, 3] and "step" not in kinds(made.noted())


def test_a_paused_world_needs_no_targets(make):
    made = make()
    made.world.paused = True
    made.driver.answers["watch"] = "no joint_targets"
    made.tick()
    assert made.noted() == [] and not made.report("silence")
    made.world.paused = False
    made.tick()
    assert made.report("silence") == (ReportLevel.WARNING, "no joint_targets")


def test_targets_are_followed_and_their_time_is_noted(make):
    made = make()
    speeds = np.full((6, 3), 0.25)
    message = JointLayout(robot()).message(standing_joints(), speeds, messages.time(3_500_000_000))
    made.topics.deliver("joint_targets", message)
    noted, taken = made.noted()
    assert noted == ("world.note_targets", 3.5) and taken[0] == "driver.take"
    assert taken[1] == pytest.approx(standing_joints()) and taken[2] == pytest.approx(speeds) and taken[3] == 77.0
    assert not made.report("targets")
    made.driver.answers["take"] = "clamped"
    made.topics.deliver("joint_targets", message)
    assert made.report("targets") == (ReportLevel.WARNING, "clamped")


def test_torque_is_published_when_it_changes(make):
    made = make()
    for armed in (True, True, False):
        made.world.armed = armed
        made.tick()
    assert [message.data for message in made.topics.sent["armed"]] == [True, False]


def test_with_a_bus_the_driver_at_its_other_end_handles_targets_and_torque(make):
    made = make(bus=True)
    assert made.made["SimulationOutput"][2] == {"servos": False}
    assert "joint_targets" not in made.topics.subscribed() and "armed" not in made.topics.sent
    made.tick()
    assert made.noted()[0] == ("bus.open",)
    assert made.node.status()["bus"] == "feetech_st at 1000000 baud"
    made.world.armed = False
    made.node.every_second()
    assert not made.report("torque")  # the driver reports it
    made.node.publish_final_state()
    assert made.noted() == [("bus.close",)]


def test_torque_that_is_off_is_reported_every_second(make):
    made = make()
    made.node.every_second()
    assert not made.report("torque")
    made.world.armed = False
    made.node.every_second()
    assert made.report("torque") == (ReportLevel.WARNING, "torque is off: run hexapod arm")
    made.world.torque.latched = True
    made.node.every_second()
    level, text = made.report("torque")
    assert level is ReportLevel.ERROR and text.startswith("emergency stop: run hexapod reset")


def test_the_status_has_the_rate_since_the_last_one_and_the_state_of_the_world(make):
    made = make()
    made.node.status()
    made.due = 30
    made.tick()
    made.time.now += 0.5
    assert made.node.status() == {
        "feedback": "measured",
        "loop [Hz]": "60.0",
        "overruns": 3,
        "simulated time [s]": "12.2",
        "paused": False,
        "world": "flat",
        "collisions": 4,
        "torque": True,
        "emergency stop": "no",
    }
    made.world.torque.latched = made.world.paused = True
    made.time.now += 0.5
    status = made.node.status()
    assert (status["loop [Hz]"], status["paused"], status["emergency stop"]) == ("0.0", True, "latched")


def test_another_world_is_shown_with_its_terrain_and_in_the_window(make):
    made = make(headless=False)
    terrains = len(made.topics.sent["terrain"])
    assert made.node.set_parameters_atomically([Parameter("friction", value=0.5)]).successful
    (changed, settings), opened = made.noted()
    assert changed == "world.change" and settings.friction == 0.5 and opened == ("ViewerWindow.open", made.simulation)
    assert len(made.topics.sent["terrain"]) == terrains + 1
    made.node.publish_final_state()
    assert made.noted() == [("ViewerWindow.close",)]


def test_the_simulator_may_end_once_targets_have_stopped_and_holds_after_a_failure(make):
    made = make()
    for seconds, stopped in ((0.24, False), (0.02, True)):
        made.time.now += seconds
        assert made.node.stopped() is stopped
    made.node.safe_stop("tick")
    assert made.noted() == [("driver.hold",)]
