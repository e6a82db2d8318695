# SPDX-License-Identifier: Apache-2.0
"""The bus that a driver opens without a wire."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import Bench

from hexapod_control.config.robots.robot_file import load
from hexapod_control.nodes.servo_driver import servo_driver as module
from hexapod_control.nodes.servo_driver.servo_driver import bus_opener
from hexapod_control.servos.bus.bus_interface import ServoQuantity
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.driver.target_follower import SPEED_MARGIN
from hexapod_control.servos.settings.servo_section import servo_settings


def test_servos_without_a_wire_start_where_the_robot_is_and_are_quicker_than_any_joint(bench: Bench):
    settings, angles = servo_settings(load("phantomx")), standing_joints()
    bus = bus_opener(settings, robot(), angles, 0.01, force_model=False)()

    def off(goal):
        readings = bus.read(settings.ids, ServoQuantity.POSITION)
        found = [joint.angle(readings[joint.id].position) for joint in settings.joints]
        return np.abs(np.array(found) - goal.ravel()).max()

    assert off(angles) < 0.002
    fastest = max(joint.no_load_speed for leg in robot().legs for joint in leg.joints)
    bus.torque(settings.ids, True)
    bus.write_goals(
        dict(
            zip(
                settings.ids,
                [joint.raw(q - 0.3) for joint, q in zip(settings.joints, angles.ravel(), strict=True)],
                strict=True,
            )
        ),
        0.0,
    )
    bench.until(lambda: off(angles - 0.3) < 0.002, 0.3 / fastest + 0.1)


def test_servos_without_a_wire_turn_twice_as_fast_as_any_command(monkeypatch):
    made = []
    monkeypatch.setattr(module, "LoopbackBus", lambda ids, **options: made.append((ids, options)))
    settings = servo_settings(load("phantomx"))
    bus_opener(settings, robot(), standing_joints(), 0.01, force_model=False)()
    fastest = max(joint.no_load_speed for leg in robot().legs for joint in leg.joints)
    ((ids, options),) = made
    assert ids == settings.ids and options["speed"] == pytest.approx(2.0 * SPEED_MARGIN * fastest)
    raw = [joint.raw(q) for joint, q in zip(settings.joints, standing_joints().ravel(), strict=True)]
    assert options["positions"] == dict(zip(settings.ids, raw, strict=True))


@pytest.mark.parametrize("known", [(), ("wait",), ("force_model",), ("touch",), ("wait", "force_model", "touch")])
def test_a_bus_with_a_wire_is_opened_with_the_options_that_its_protocol_has(monkeypatch, known):
    protocol = SimpleNamespace(
        options=known,
        connect=lambda port, baud: (port, baud),
        open=lambda port, ids, **options: (port, ids, options),
    )
    monkeypatch.setattr(module, "PROTOCOLS", {"invented": protocol})
    settings = replace(servo_settings(load("phantomx")), protocol="invented", port="/dev/wire", options={"own": 7})
    opener = bus_opener(settings, robot(), standing_joints(), 0.01, force_model=True, touch=True)
    options = {"wait": ReplyTiming(margin=0.01), "force_model": True, "touch": True}
    expected = {name: value for name, value in options.items() if name in known}
    assert opener() == (("/dev/wire", settings.baud), settings.ids, {"own": 7, **expected})
    assert bus_opener(settings, robot(), standing_joints(), 0.01, force_model=False)()[2].get("touch", False) is False
