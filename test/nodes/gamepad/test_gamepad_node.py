# SPDX-License-Identifier: Apache-2.0
"""Node gamepad with an emulated input device: its state, its removal, and the reaction of teleop."""

import builtins
import errno
import sys
from types import SimpleNamespace

import pytest
from sensor_msgs.msg import Joy
from support.kits.input_device import STICK, Device
from support.real_time.ros_bench import overrides
from support.real_time.teleop_bench import STOP, Robot, connected, speeds, teleop

from hexapod_control.nodes.gamepad import gamepad
from hexapod_control.nodes.gamepad.evdev_gamepad import EV_ABS, EV_KEY
from hexapod_control.nodes.gamepad.gamepad import GamepadNode
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import EVENTS


def pads(bench, *devices, **parameters):
    return bench.add(GamepadNode(lambda: devices, parameter_overrides=overrides(**parameters)))


def test_a_gamepad_that_is_removed_with_the_stick_forward_is_a_stop(bench):
    device = Device()
    node, driver = pads(bench, device), teleop(bench)
    Robot(bench)
    received = bench.velocities()
    bench.until(lambda: connected(driver) and driver.teleop.robot.maxima.vx > 0.0)
    device.event(EV_KEY, 0x136, 1)
    device.event(EV_ABS, 1, STICK[0])
    bench.until(lambda: received and speeds(received)[-1].vx > 0.0)
    device.gone = True
    assert bench.until(lambda: speeds(received)[-1].is_zero, STOP) < 0.3
    assert "gamepad Test Pad was removed" in node.last_report("lost")
    bench.until(lambda: not connected(driver), 2.0, "silence")
    assert device.closed
    device.gone = False  # plugged in again, everything still held
    before = len(received)
    bench.until(lambda: connected(driver), 3.0)
    bench.until(lambda: "enable_button" in (driver.teleop.pressed or ()))
    assert len(received) == before


def test_a_callback_that_fails_puts_all_controls_at_rest_and_the_gamepad_is_opened_again(bench):
    device = Device()
    device.pressed = {0x130}
    node, received = pads(bench, device), bench.listen(Joy, "joy", EVENTS)
    bench.until(lambda: received and received[-1].buttons[0])
    node.safe_stop("poll")
    bench.until(lambda: not any(received[-1].buttons))
    assert device.closed and node.status()["gamepad"] == "none"
    assert node.last_report("lost") == "poll failed: reopening the gamepad"
    node.safe_stop("poll")
    for kind in ("lost", "found"):
        if kind == "found":
            bench.until(lambda: received[-1].buttons[0], 3.0)
        assert node.sent_reports[kind].logged == node.sent_reports[kind].when
    assert node.status()["gamepad"] == "Test Pad"


def test_devices_that_may_not_be_opened_are_left_out(monkeypatch):
    def opened(path):
        if path == "/dev/input/event1":
            raise PermissionError(errno.EACCES, "Permission denied")
        return f"the device {path}"

    paths = [f"/dev/input/event{k}" for k in range(3)]
    monkeypatch.setitem(sys.modules, "evdev", SimpleNamespace(list_devices=lambda: paths, InputDevice=opened))
    assert list(gamepad.devices()) == [f"the device {path}" for path in (paths[0], paths[2])]


def test_without_evdev_the_remedy_is_reported(bench, monkeypatch):
    load = builtins.__import__

    def lacking(name, *rest):
        if name == "evdev":
            raise ModuleNotFoundError(name="evdev")
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ParameterError, match=r"evdev is missing: .* install .*evdev"):
        list(gamepad.devices())
