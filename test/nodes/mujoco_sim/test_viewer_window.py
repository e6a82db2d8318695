# SPDX-License-Identifier: Apache-2.0
"""The window of MuJoCo, with a stand-in for MuJoCo's viewer, which needs a display."""

import sys
from types import SimpleNamespace

import pytest
from rclpy.parameter import Parameter
from support.real_time.ros_bench import overrides

from hexapod_control.nodes.mujoco_sim.mujoco_sim import PERIOD_S, MujocoSimNode, ViewerWindow


class Window:
    """A window that counts how often it was drawn."""

    def __init__(self, model, data):
        self.shown, self.drawn, self.open = (model, data), 0, True

    def is_running(self):
        return self.open

    def sync(self):
        self.drawn += 1

    def close(self):
        self.open = False


class Display:
    """Stands in for the module mujoco.viewer."""

    def __init__(self):
        self.windows, self.absent = [], False

    def launch_passive(self, model, data):
        if self.absent:
            raise RuntimeError("no display")
        self.windows.append(Window(model, data))
        return self.windows[-1]


class Node:
    """A stub for the node of the window."""

    steady = "steady clock"

    def __init__(self):
        self.timers, self.reports = [], []

    def create_timer(self, period, callback, clock):
        self.timers.append((period, callback, clock))

    def report(self, kind, level, text):
        self.reports.append(text)


@pytest.fixture
def display(monkeypatch):
    display = Display()
    monkeypatch.setitem(sys.modules, "mujoco.viewer", display)
    monkeypatch.setattr("mujoco.viewer", display, raising=False)
    return display


def world(name):
    return SimpleNamespace(model=f"model of {name}", data=f"data of {name}")


def test_the_world_is_drawn_in_real_time_until_its_window_is_closed(display):
    node = Node()
    ViewerWindow(node, world("flat"))
    (window,), ((period, draw, clock),) = display.windows, node.timers
    assert window.shown == ("model of flat", "data of flat")
    assert (period, clock) == (PERIOD_S, node.steady) and 20.0 <= 1.0 / period <= 60.0
    draw()
    draw()
    window.open = False  # by its user
    draw()
    assert window.drawn == 2 and not node.reports


def test_another_world_is_shown_in_place_of_the_last_one_until_the_end(display):
    node = Node()
    viewer = ViewerWindow(node, world("flat"))
    viewer.open(world("bumps"))
    before, after = display.windows
    assert not before.open and after.open and after.shown == ("model of bumps", "data of bumps")
    node.timers[0][1]()
    assert (before.drawn, after.drawn) == (0, 1)
    viewer.close()
    viewer.close()
    node.timers[0][1]()
    assert not after.open and after.drawn == 1


@pytest.mark.physics
def test_the_node_shows_its_world_another_one_after_a_change_and_none_at_its_end(bench, display):
    node = bench.add(MujocoSimNode(parameter_overrides=overrides(headless=False)))
    (first,) = display.windows
    bench.until(lambda: first.drawn)
    assert node.set_parameters_atomically([Parameter("payload", value=0.5)]).successful
    second = display.windows[-1]
    assert not first.open and second.open and second.shown[0] is node.world.simulation.model
    node.publish_final_state()
    assert not second.open and len(display.windows) == 2


def test_without_a_display_the_node_runs_on_and_says_what_to_do(display):
    display.absent, node = True, Node()
    viewer = ViewerWindow(node, world("flat"))
    node.timers[0][1]()
    viewer.close()
    assert node.reports == ["no window (no display): set headless to true, or set DISPLAY"]
