# SPDX-License-Identifier: Apache-2.0
"""The emulated sensors of a robot measure how it stands."""

import math

import numpy as np
import pytest
from support.kits.standing_robot import StandingRobot

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.whole_body import joints_in_pose, standing_joints
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.emulated_robot.robot_sensors import RobotSensors
from hexapod_control.servos.emulator.chips.io_chips import EmulatedMpu
from hexapod_control.servos.emulator.devices.servo2040_device import Servo2040Device
from hexapod_control.servos.i2c.foot_switches import FootSwitchSection
from hexapod_control.servos.i2c.supply_sensor import SupplySection
from hexapod_control.servos.settings.io_section import ImuSection, IoSettings


def test_switches_imu_and_battery_follow_the_robot():
    made = StandingRobot("phantomx")
    feet = FootSwitchSection("mcp23017", 0x20, "", (9, 1, 2, 3, 4, 5), "low", 0.0)
    imu, battery = ImuSection("mpu6050", 0x68, (math.pi, 0.0, 0.0)), SupplySection("ina219", 0x40, shunt=0.02)
    sensors = RobotSensors(IoSettings(imu=imu, battery=battery, feet=feet))
    made.world.weighed = lambda dt: sensors.measure(made.world, None, dt)
    chip, supply, switches = sensors.chips
    assert isinstance(chip, EmulatedMpu)  # upside down
    assert chip.motion.acceleration == pytest.approx((0.0, 0.0, -GRAVITY))
    switches.write(0x20, b"\x12")
    assert switches.read(2) == b"\xff\xff"  # no foot is down before the first measurement
    joints = [list(row) for row in standing_joints(made.robot)]
    joints[1][1] += 0.5
    made.move(joints)
    switches.write(0x20, b"\x12")
    assert switches.read(2) == bytes((0xFF - 0b111100, 0xFF - 0b10))
    tilted = joints_in_pose(made.robot, made.robot.footholds, BodyPose(pitch=0.1))
    made.move(tilted)
    assert chip.motion.acceleration[0] == pytest.approx(-GRAVITY * math.sin(0.1), rel=0.1)
    turned = []
    made.world.weighed = lambda dt: turned.append(made.world.turn)
    for yaw in np.linspace(0.0, 0.1, 11):
        made.move(joints_in_pose(made.robot, made.robot.footholds, BodyPose(yaw=yaw)))
    assert sum(turned) == pytest.approx(0.1, rel=0.02)
    supply.write(0x40, b"\x02")
    assert (int.from_bytes(supply.read(2), "big") >> 3) * 4e-3 == pytest.approx(made.world.voltage(0), abs=0.005)


def test_touch_inputs_of_the_servo_board_are_high_under_load():
    made = StandingRobot("phantomx")
    sensors = RobotSensors(IoSettings(feet=FootSwitchSection("servo2040", 0, "", (5, 4, 3, 2, 1, 0), "high", 0.0)))
    device = Servo2040Device(made.world)
    joints = [list(row) for row in standing_joints(made.robot)]
    joints[0][1] += 0.5
    made.move(joints)
    sensors.measure(made.world, device, 0.02)
    assert [count > 512 for count in device.touch] == [True, True, True, True, True, False]
