"""The bus that a driver opens without a wire, and where its robot lies."""

import numpy as np
import pytest
from support.phantomx import lying, robot, standing_joints
from support.real_time.ros_bench import Bench

from hexapod_control.config.robots.robot_file import load
from hexapod_control.nodes.servo_driver.bus_opener import bus_opener, lying_joints
from hexapod_control.servos.bus.bus_interface import ServoQuantity
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


def test_a_robot_on_its_belly_has_its_feet_at_its_footholds():
    assert lying_joints(robot()) == pytest.approx(lying())
